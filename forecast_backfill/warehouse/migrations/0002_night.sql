-- The night: seals, judged windows, models, forecasts and their publication, accuracy, notices.

CREATE TABLE demand_seal (
    date date NOT NULL,
    data_version text NOT NULL,
    first_sealed_at timestamptz NOT NULL,
    sealed_at timestamptz NOT NULL,
    workload text NOT NULL,
    run_id text NOT NULL,
    campaign_id text,
    CONSTRAINT demand_seal_has_one_row_a_date PRIMARY KEY (date),
    CONSTRAINT demand_seal_workload_is_known CHECK (workload IN ('nightly', 'backfill'))
);
COMMENT ON TABLE demand_seal IS
    'Per date, which regions are in, at which version (demand_seal_region); the last seal counts.';
COMMENT ON CONSTRAINT demand_seal_has_one_row_a_date ON demand_seal IS
    'A date is sealed in one place, and sealed again there.';
COMMENT ON CONSTRAINT demand_seal_workload_is_known ON demand_seal IS
    'There are two workloads.';

CREATE TABLE demand_seal_region (
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    state text NOT NULL,
    version text,
    reason text,
    CONSTRAINT demand_seal_region_has_one_row_a_partition PRIMARY KEY (date, region),
    CONSTRAINT demand_seal_region_belongs_to_a_seal FOREIGN KEY (date)
        REFERENCES demand_seal ON DELETE CASCADE,
    CONSTRAINT demand_seal_region_state_is_known CHECK (
        state IN ('in', 'stale', 'quarantined', 'missing')
    ),
    CONSTRAINT demand_seal_region_readable_has_a_version CHECK (
        (state IN ('in', 'stale')) = (version IS NOT NULL)
    ),
    CONSTRAINT demand_seal_region_left_out_has_a_reason CHECK (
        (state = 'in') = (reason IS NULL)
    )
);
COMMENT ON TABLE demand_seal_region IS
    'One region of a seal: readable at a version, or out for a reason.';
COMMENT ON CONSTRAINT demand_seal_region_has_one_row_a_partition ON demand_seal_region IS
    'A seal says one thing of a region.';
COMMENT ON CONSTRAINT demand_seal_region_belongs_to_a_seal ON demand_seal_region IS
    'No region is sealed without its date.';
COMMENT ON CONSTRAINT demand_seal_region_state_is_known ON demand_seal_region IS
    'The states of core/coverage.py, no other.';
COMMENT ON CONSTRAINT demand_seal_region_readable_has_a_version ON demand_seal_region IS
    'What is readable is named, and what is not has no name.';
COMMENT ON CONSTRAINT demand_seal_region_left_out_has_a_reason ON demand_seal_region IS
    'Every region that is not simply in says why.';

CREATE TABLE demand_seal_change (
    change_id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    date date NOT NULL,
    data_version text NOT NULL,
    previous_version text,
    changed_regions text[] NOT NULL,
    workload text NOT NULL,
    run_id text NOT NULL,
    campaign_id text,
    CONSTRAINT demand_seal_change_is_numbered PRIMARY KEY (change_id),
    CONSTRAINT demand_seal_change_changes_something CHECK (
        data_version IS DISTINCT FROM previous_version AND cardinality(changed_regions) >= 1
    )
);
COMMENT ON TABLE demand_seal_change IS
    'Every seal that said something new, in order; rows are added and never changed.';
COMMENT ON CONSTRAINT demand_seal_change_is_numbered ON demand_seal_change IS
    'The later change of a date has the higher number.';
COMMENT ON CONSTRAINT demand_seal_change_changes_something ON demand_seal_change IS
    'The same content sealed again is no change.';
CREATE INDEX demand_seal_change_by_date ON demand_seal_change (date, change_id);

CREATE TABLE training_window (
    date date NOT NULL,
    verdict text NOT NULL,
    reasons text[] NOT NULL,
    window_start date NOT NULL,
    window_end date NOT NULL,
    regions text[] NOT NULL,
    expected integer NOT NULL,
    left_out integer NOT NULL,
    seals jsonb NOT NULL,
    window_digest text NOT NULL,
    changed_dates date[] NOT NULL,
    override_by text,
    override_reason text,
    judged_at timestamptz NOT NULL,
    workload text NOT NULL,
    run_id text NOT NULL,
    campaign_id text,
    CONSTRAINT training_window_has_one_row_a_date PRIMARY KEY (date),
    CONSTRAINT training_window_verdict_is_known CHECK (
        verdict IN ('accepted', 'degraded', 'needs_override', 'refused')
    ),
    CONSTRAINT training_window_verdict_has_reasons CHECK (
        (verdict = 'accepted') = (cardinality(reasons) = 0)
    ),
    CONSTRAINT training_window_ends_with_its_date CHECK (
        window_end = date + 1 AND window_start < window_end
    ),
    CONSTRAINT training_window_left_out_was_expected CHECK (left_out BETWEEN 0 AND expected),
    CONSTRAINT training_window_override_has_a_name CHECK (
        (override_by IS NULL) = (override_reason IS NULL)
        AND (override_by IS NULL OR verdict = 'degraded')
    ),
    CONSTRAINT training_window_workload_is_known CHECK (workload IN ('nightly', 'backfill'))
);
COMMENT ON TABLE training_window IS
    'The window of a date as the completeness contract judged it last; exclusions: model_coverage.';
COMMENT ON CONSTRAINT training_window_has_one_row_a_date ON training_window IS
    'A window has one verdict.';
COMMENT ON CONSTRAINT training_window_verdict_is_known ON training_window IS
    'The verdicts of core/completeness.py, no other.';
COMMENT ON CONSTRAINT training_window_verdict_has_reasons ON training_window IS
    'Every verdict that is not a plain yes says why.';
COMMENT ON CONSTRAINT training_window_ends_with_its_date ON training_window IS
    'The window of a date ends with it; window_end is exclusive.';
COMMENT ON CONSTRAINT training_window_left_out_was_expected ON training_window IS
    'Only what was expected can be left out.';
COMMENT ON CONSTRAINT training_window_override_has_a_name ON training_window IS
    'An override names a person and a reason, and lets the forecasts out marked degraded.';
COMMENT ON CONSTRAINT training_window_workload_is_known ON training_window IS
    'There are two workloads.';

CREATE TABLE model_coverage (
    date date NOT NULL,
    partition_date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    state text NOT NULL,
    is_used boolean NOT NULL,
    reason text NOT NULL,
    CONSTRAINT model_coverage_has_one_row_a_partition PRIMARY KEY (date, partition_date, region),
    CONSTRAINT model_coverage_belongs_to_a_window FOREIGN KEY (date)
        REFERENCES training_window ON DELETE CASCADE,
    CONSTRAINT model_coverage_state_is_an_exception CHECK (
        state IN ('stale', 'quarantined', 'missing')
    ),
    CONSTRAINT model_coverage_only_stale_is_used CHECK (NOT is_used OR state = 'stale')
);
COMMENT ON TABLE model_coverage IS
    'Every partition that the window of a date leaves out (or uses although stale), and why.';
COMMENT ON CONSTRAINT model_coverage_has_one_row_a_partition ON model_coverage IS
    'A window says one thing of a partition.';
COMMENT ON CONSTRAINT model_coverage_belongs_to_a_window ON model_coverage IS
    'No exclusion without the verdict that it was counted in.';
COMMENT ON CONSTRAINT model_coverage_state_is_an_exception ON model_coverage IS
    'What is simply in is not listed.';
COMMENT ON CONSTRAINT model_coverage_only_stale_is_used ON model_coverage IS
    'What cannot be read cannot be used.';

CREATE TABLE window_override (
    date date NOT NULL,
    window_digest text NOT NULL,
    override_by text NOT NULL,
    override_reason text NOT NULL,
    given_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT window_override_is_given_once PRIMARY KEY (date, window_digest),
    CONSTRAINT window_override_names_a_person CHECK (
        override_by ~ '[^[:space:]]' AND override_reason ~ '[^[:space:]]'
    )
);
COMMENT ON TABLE window_override IS
    'Who took the window of a date although the contract would not, for exactly this content.';
COMMENT ON CONSTRAINT window_override_is_given_once ON window_override IS
    'One person answers for one content of a window.';
COMMENT ON CONSTRAINT window_override_names_a_person ON window_override IS
    'A named person, and a reason.';

CREATE TABLE demand_model (
    date date NOT NULL,
    version text NOT NULL,
    kind text NOT NULL,
    reason text NOT NULL,
    artefact bytea NOT NULL,
    parameters jsonb NOT NULL,
    seed bigint NOT NULL,
    window_digest text NOT NULL,
    data_digest text NOT NULL,
    verdict text NOT NULL,
    degraded_for text[] NOT NULL,
    regions text[] NOT NULL,
    groups text[] NOT NULL,
    expected integer NOT NULL,
    left_out integer NOT NULL,
    moved jsonb NOT NULL,
    changed_dates date[] NOT NULL,
    training_rows integer NOT NULL,
    holdout_model_wape double precision,
    holdout_formula_wape double precision,
    seconds double precision NOT NULL,
    trained_at timestamptz NOT NULL,
    workload text NOT NULL,
    run_id text NOT NULL,
    campaign_id text,
    CONSTRAINT demand_model_has_one_row_a_date PRIMARY KEY (date),
    CONSTRAINT demand_model_kind_is_known CHECK (kind IN ('lightgbm', 'formula')),
    CONSTRAINT demand_model_window_was_taken CHECK (verdict IN ('accepted', 'degraded')),
    CONSTRAINT demand_model_has_a_series CHECK (
        cardinality(regions) >= 1 AND cardinality(groups) >= 1
    ),
    CONSTRAINT demand_model_workload_is_known CHECK (workload IN ('nightly', 'backfill'))
);
ALTER TABLE demand_model ALTER COLUMN artefact SET STORAGE EXTERNAL;
COMMENT ON TABLE demand_model IS
    'The model of a date with all that it has seen, its lineage, coverage and scores.';
COMMENT ON CONSTRAINT demand_model_has_one_row_a_date ON demand_model IS
    'A date has one model; a refit takes its place.';
COMMENT ON CONSTRAINT demand_model_kind_is_known ON demand_model IS
    'Gradient boosting, or the formula that it may not lose to.';
COMMENT ON CONSTRAINT demand_model_window_was_taken ON demand_model IS
    'No model comes from a window that the contract did not take.';
COMMENT ON CONSTRAINT demand_model_has_a_series ON demand_model IS
    'A model of nothing is a mistake.';
COMMENT ON CONSTRAINT demand_model_workload_is_known ON demand_model IS
    'There are two workloads.';

CREATE TABLE forecast_partition (
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    forecast_version text NOT NULL,
    model_version text NOT NULL,
    rows bigint NOT NULL,
    checksum numeric NOT NULL,
    milliunits numeric NOT NULL,
    written_at timestamptz NOT NULL,
    workload text NOT NULL,
    run_id text NOT NULL,
    campaign_id text,
    epoch bigint NOT NULL,
    CONSTRAINT forecast_partition_has_one_row_a_version
        PRIMARY KEY (date, region, forecast_version),
    CONSTRAINT forecast_partition_holds_rows CHECK (rows >= 1),
    CONSTRAINT forecast_partition_workload_is_known CHECK (workload IN ('nightly', 'backfill'))
);
COMMENT ON TABLE forecast_partition IS
    'A stored version of the forecasts of a (date, region); its name is a digest of its content.';
COMMENT ON CONSTRAINT forecast_partition_has_one_row_a_version ON forecast_partition IS
    'The same forecasts are stored once.';
COMMENT ON CONSTRAINT forecast_partition_holds_rows ON forecast_partition IS
    'Empty forecasts are not complete.';
COMMENT ON CONSTRAINT forecast_partition_workload_is_known ON forecast_partition IS
    'There are two workloads.';

CREATE TABLE demand_forecast (
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    forecast_version text NOT NULL,
    demand_group text COLLATE "C" NOT NULL,
    target_date date NOT NULL,
    milliunits bigint NOT NULL,
    CONSTRAINT demand_forecast_is_unique_by_grain
        PRIMARY KEY (date, region, forecast_version, demand_group, target_date),
    CONSTRAINT demand_forecast_belongs_to_a_partition
        FOREIGN KEY (date, region, forecast_version) REFERENCES forecast_partition
        ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT demand_forecast_is_not_negative CHECK (milliunits >= 0),
    CONSTRAINT demand_forecast_looks_ahead CHECK (target_date > date)
);
COMMENT ON TABLE demand_forecast IS
    'Thousandths of units, by version; readers read published_forecast.';
COMMENT ON CONSTRAINT demand_forecast_is_unique_by_grain ON demand_forecast IS
    'A version has every series and day once.';
COMMENT ON CONSTRAINT demand_forecast_belongs_to_a_partition ON demand_forecast IS
    'No row without the record of its version.';
COMMENT ON CONSTRAINT demand_forecast_is_not_negative ON demand_forecast IS
    'Nobody buys less than nothing.';
COMMENT ON CONSTRAINT demand_forecast_looks_ahead ON demand_forecast IS
    'A forecast is made before its day.';

CREATE TABLE forecast_publication (
    date date NOT NULL,
    status text NOT NULL,
    model_version text,
    reasons text[] NOT NULL,
    absent text[] NOT NULL,
    data_version text NOT NULL,
    first_published_at timestamptz,
    switched_at timestamptz NOT NULL,
    workload text NOT NULL,
    run_id text NOT NULL,
    campaign_id text,
    CONSTRAINT forecast_publication_has_one_row_a_date PRIMARY KEY (date),
    CONSTRAINT forecast_publication_status_is_known CHECK (
        status IN ('fresh', 'degraded', 'kept')
    ),
    CONSTRAINT forecast_publication_says_why CHECK (
        (status = 'fresh') = (cardinality(reasons) = 0)
    ),
    CONSTRAINT forecast_publication_own_is_dated CHECK (
        status = 'kept' OR first_published_at IS NOT NULL
    ),
    CONSTRAINT forecast_publication_workload_is_known CHECK (workload IN ('nightly', 'backfill'))
);
COMMENT ON TABLE forecast_publication IS
    'What readers of a date see; first_published_at is when it first had forecasts of its own.';
COMMENT ON CONSTRAINT forecast_publication_has_one_row_a_date ON forecast_publication IS
    'A date is switched in one place.';
COMMENT ON CONSTRAINT forecast_publication_status_is_known ON forecast_publication IS
    'The statuses of core/publication.py, no other.';
COMMENT ON CONSTRAINT forecast_publication_says_why ON forecast_publication IS
    'Everything that is not simply fresh says why.';
COMMENT ON CONSTRAINT forecast_publication_own_is_dated ON forecast_publication IS
    'The deadline is judged by when a night was first published as its own.';
COMMENT ON CONSTRAINT forecast_publication_workload_is_known ON forecast_publication IS
    'There are two workloads.';

CREATE TABLE forecast_publication_region (
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    source_date date NOT NULL,
    forecast_version text NOT NULL,
    CONSTRAINT forecast_publication_region_has_one_row_a_region PRIMARY KEY (date, region),
    CONSTRAINT forecast_publication_region_belongs_to_a_publication FOREIGN KEY (date)
        REFERENCES forecast_publication ON DELETE CASCADE,
    CONSTRAINT forecast_publication_region_is_stored
        FOREIGN KEY (source_date, region, forecast_version) REFERENCES forecast_partition,
    CONSTRAINT forecast_publication_region_was_made_by_then CHECK (source_date <= date)
);
COMMENT ON TABLE forecast_publication_region IS
    'Which version of a region''s forecasts a publication shows, and from which night it is.';
COMMENT ON CONSTRAINT forecast_publication_region_has_one_row_a_region
    ON forecast_publication_region IS
    'Readers see one version of a region.';
COMMENT ON CONSTRAINT forecast_publication_region_belongs_to_a_publication
    ON forecast_publication_region IS
    'No region is published alone.';
COMMENT ON CONSTRAINT forecast_publication_region_is_stored ON forecast_publication_region IS
    'What is published cannot be dropped.';
COMMENT ON CONSTRAINT forecast_publication_region_was_made_by_then
    ON forecast_publication_region IS
    'No night shows what was forecast later.';
CREATE INDEX forecast_publication_region_by_version
    ON forecast_publication_region (source_date, region, forecast_version);

CREATE VIEW published_forecast AS
SELECT publication.date, publication.status, shown.source_date, forecast.region,
       forecast.demand_group, forecast.target_date, forecast.milliunits,
       shown.forecast_version, publication.switched_at
FROM forecast_publication AS publication
JOIN forecast_publication_region AS shown ON shown.date = publication.date
JOIN demand_forecast AS forecast
    ON forecast.date = shown.source_date
    AND forecast.region = shown.region
    AND forecast.forecast_version = shown.forecast_version;
COMMENT ON VIEW published_forecast IS
    'What stores order by: one whole publication a date, whatever is being written meanwhile.';

CREATE TABLE forecast_accuracy (
    date date NOT NULL,
    region text COLLATE "C" NOT NULL,
    horizon integer NOT NULL,
    target_date date,
    forecast_version text NOT NULL,
    known_days integer NOT NULL,
    horizon_days integer NOT NULL,
    actual_milliunits bigint NOT NULL,
    forecast_milliunits bigint NOT NULL,
    wape double precision,
    naive_wape double precision,
    bias double precision,
    rmsse double precision,
    measured_at timestamptz NOT NULL,
    run_id text NOT NULL,
    CONSTRAINT forecast_accuracy_has_one_row_a_horizon PRIMARY KEY (date, region, horizon),
    CONSTRAINT forecast_accuracy_horizon_is_dated CHECK (
        (horizon = 0 AND target_date IS NULL) OR (horizon >= 1 AND target_date = date + horizon)
    ),
    CONSTRAINT forecast_accuracy_days_are_known CHECK (known_days BETWEEN 1 AND horizon_days),
    CONSTRAINT forecast_accuracy_is_a_number CHECK (
        coalesce(wape, 0) BETWEEN 0 AND 1e15 AND coalesce(naive_wape, 0) BETWEEN 0 AND 1e15
        AND coalesce(rmsse, 0) BETWEEN 0 AND 1e15 AND coalesce(bias, 0) BETWEEN -1e15 AND 1e15
    )
);
COMMENT ON TABLE forecast_accuracy IS
    'How good the forecasts of a (date, region) were; horizon 0 is all known days together.';
COMMENT ON CONSTRAINT forecast_accuracy_has_one_row_a_horizon ON forecast_accuracy IS
    'A horizon day is measured once, and measured again in its place.';
COMMENT ON CONSTRAINT forecast_accuracy_horizon_is_dated ON forecast_accuracy IS
    'Horizon h is the day h days after the forecast.';
COMMENT ON CONSTRAINT forecast_accuracy_days_are_known ON forecast_accuracy IS
    'Nothing is measured before a day is in.';
COMMENT ON CONSTRAINT forecast_accuracy_is_a_number ON forecast_accuracy IS
    'Unknown is null; neither NaN nor infinity is a score.';

CREATE TABLE notice (
    notice_id bigint GENERATED ALWAYS AS IDENTITY,
    key text NOT NULL,
    kind text NOT NULL,
    audience text NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    attempts integer NOT NULL DEFAULT 0,
    last_error text,
    queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at timestamptz,
    ended_at timestamptz,
    CONSTRAINT notice_is_numbered PRIMARY KEY (notice_id),
    CONSTRAINT notice_is_told_once UNIQUE (key),
    CONSTRAINT notice_audience_is_known CHECK (audience IN ('nightly', 'backfill')),
    CONSTRAINT notice_status_is_known CHECK (
        status IN ('pending', 'sent', 'unaddressed', 'abandoned')
    ),
    CONSTRAINT notice_pending_is_due CHECK (
        (status = 'pending') = (due_at IS NOT NULL) AND (status = 'pending') = (ended_at IS NULL)
    ),
    CONSTRAINT notice_abandoned_has_an_error CHECK (
        status <> 'abandoned' OR last_error IS NOT NULL
    )
);
COMMENT ON TABLE notice IS
    'The outbox: what people are to be told, sent apart from the work and tried again.';
COMMENT ON CONSTRAINT notice_is_numbered ON notice IS
    'The later notice has the higher number.';
COMMENT ON CONSTRAINT notice_is_told_once ON notice IS
    'The same subject is told once, however often it is found.';
COMMENT ON CONSTRAINT notice_audience_is_known ON notice IS
    'There are two audiences.';
COMMENT ON CONSTRAINT notice_status_is_known ON notice IS
    'The statuses of core/notice.py, no other.';
COMMENT ON CONSTRAINT notice_pending_is_due ON notice IS
    'A notice is due exactly until it has ended.';
COMMENT ON CONSTRAINT notice_abandoned_has_an_error ON notice IS
    'Nothing is given up without a reason.';
CREATE INDEX notice_by_due ON notice (due_at) WHERE status = 'pending';
