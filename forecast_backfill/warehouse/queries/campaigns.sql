-- name: register_campaign(campaign_id, workload, partitions, launched_by, reprocess, detail, winner)^
INSERT INTO campaign
    (campaign_id, workload, partitions, launched_at, launched_by, reprocess, detail, winner)
VALUES
    (:campaign_id, :workload, :partitions, clock_timestamp(), :launched_by, :reprocess, :detail,
     :winner)
ON CONFLICT (campaign_id) DO UPDATE SET
    workload = excluded.workload, partitions = excluded.partitions,
    launched_by = excluded.launched_by, reprocess = excluded.reprocess, detail = excluded.detail,
    winner = excluded.winner
RETURNING number;

-- name: is_registered(campaign_id)$
SELECT EXISTS (SELECT FROM campaign WHERE campaign_id = :campaign_id);

-- name: list_campaigns()
-- Campaigns that were launched here, and those (from the UI) that only their events tell of.
SELECT coalesce(campaign.campaign_id, seen.campaign_id) AS campaign_id,
       coalesce(campaign.workload, seen.workload) AS workload,
       campaign.partitions AS requested,
       coalesce(campaign.launched_at, seen.first_event_at) AS launched_at,
       campaign.launched_by,
       coalesce(campaign.reprocess, false) AS reprocess,
       campaign.winner
FROM campaign
FULL JOIN (
    SELECT campaign_id, min(workload) AS workload, min(at) AS first_event_at
    FROM partition_event WHERE campaign_id IS NOT NULL GROUP BY campaign_id
) AS seen ON seen.campaign_id = campaign.campaign_id
ORDER BY 4 DESC, 1;

-- name: has_dagster_events()$
SELECT to_regclass('public.event_logs') IS NOT NULL;

-- name: has_dagster_backfills()$
SELECT to_regclass('public.bulk_actions') IS NOT NULL;

-- name: dagster_backfills(campaign_ids)
-- What Dagster says of its backfills; the ledger cannot know that one was cancelled.
SELECT key AS campaign_id, status FROM public.bulk_actions WHERE key = ANY(:campaign_ids);

-- name: progress_of_campaign(campaign_id, window_seconds)^
-- The latest event of a partition within the campaign decides what it counts as.
WITH event AS (
    SELECT event_id, at, date, region, kind FROM partition_event
    WHERE campaign_id = :campaign_id
), latest AS (
    SELECT DISTINCT ON (date, region) kind, at FROM event
    ORDER BY date, region, event_id DESC
)
SELECT count(*) AS touched,
       count(*) FILTER (WHERE kind = 'written') AS done,
       count(*) FILTER (WHERE kind = 'unchanged') AS unchanged,
       count(*) FILTER (WHERE kind = 'quarantined') AS quarantined,
       count(*) FILTER (WHERE kind = 'refused') AS refused,
       count(*) FILTER (WHERE kind = 'mismatched') AS mismatched,
       count(*) FILTER (WHERE kind = 'failed') AS failed,
       count(*) FILTER (WHERE kind = 'rolled_back') AS rolled_back,
       count(*) FILTER (WHERE kind = 'started') AS running,
       count(*) FILTER (
           WHERE kind <> 'started'
             AND at > clock_timestamp() - make_interval(secs => :window_seconds)
       ) AS recent,
       (SELECT min(at) FROM event) AS first_event_at,
       (SELECT max(at) FROM event) AS last_event_at,
       (SELECT partitions FROM campaign WHERE campaign_id = :campaign_id) AS requested,
       extract(epoch FROM clock_timestamp() - (SELECT min(at) FROM event))::float8 AS age_seconds
FROM latest;

-- name: progress_of_all(window_seconds)^
-- Over every campaign and run: the ledger decides, and the latest event only where the ledger has
-- no row (refused, or failed before it began). A refusal or a late failure of another run changes
-- nothing of a partition that is done.
WITH event AS (
    SELECT DISTINCT ON (date, region) date, region, kind, at FROM partition_event
    ORDER BY date, region, event_id DESC
), latest AS (
    SELECT CASE
               WHEN status IS NULL THEN event.kind
               WHEN status = 'running' THEN 'started'
               WHEN status <> 'done' THEN status
               WHEN event.kind = 'unchanged' THEN 'unchanged'
               ELSE 'written'
           END AS kind,
           event.at
    FROM event LEFT JOIN partition_ledger USING (date, region)
)
SELECT count(*) AS touched,
       count(*) FILTER (WHERE kind = 'written') AS done,
       count(*) FILTER (WHERE kind = 'unchanged') AS unchanged,
       count(*) FILTER (WHERE kind = 'quarantined') AS quarantined,
       count(*) FILTER (WHERE kind = 'refused') AS refused,
       count(*) FILTER (WHERE kind = 'mismatched') AS mismatched,
       count(*) FILTER (WHERE kind = 'failed') AS failed,
       count(*) FILTER (WHERE kind = 'rolled_back') AS rolled_back,
       count(*) FILTER (WHERE kind = 'started') AS running,
       count(*) FILTER (
           WHERE kind <> 'started'
             AND at > clock_timestamp() - make_interval(secs => :window_seconds)
       ) AS recent,
       (SELECT min(at) FROM partition_event) AS first_event_at,
       max(at) AS last_event_at,
       NULL::integer AS requested,
       extract(epoch FROM clock_timestamp() - (SELECT min(at) FROM partition_event))::float8
           AS age_seconds
FROM latest;
