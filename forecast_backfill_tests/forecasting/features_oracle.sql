-- The features of one origin, recomputed from the long table without any of the project's code.
-- Tables: long (region, demand_group, date, units), promotions (region, demand_group, week, display,
-- mailer; week is a Monday), targets (date, step). Parameter :origin is the first date not yet sold.
WITH
past AS (
    SELECT region, demand_group, date, units, strftime('%w', date) AS weekday
    FROM long AS seen
    WHERE date < :origin AND date >= date(:origin, '-56 days') AND units IS NOT NULL
      AND (SELECT sum(units) FROM long AS chain WHERE chain.date = seen.date) > 0
),
series AS (
    SELECT DISTINCT region, demand_group FROM long
),
group_mean AS (
    SELECT demand_group, avg(mean) AS mean
    FROM (SELECT region, demand_group, avg(units) AS mean FROM past GROUP BY region, demand_group)
    GROUP BY demand_group
),
mean AS (
    SELECT region, demand_group, coalesce(avg(past.units), group_mean.mean, 0.0) AS mean
    FROM series
    LEFT JOIN past USING (region, demand_group)
    LEFT JOIN group_mean USING (demand_group)
    GROUP BY region, demand_group
),
profile AS (
    SELECT demand_group, weekday,
           CASE WHEN sum(mean) > 0 THEN 1.0 * sum(units) / sum(mean) ELSE 1.0 END AS profile
    FROM past JOIN mean USING (region, demand_group)
    GROUP BY demand_group, weekday
),
own_level AS (
    SELECT region, demand_group,
           CASE WHEN sum(profile) > 0 THEN sum(units) / sum(profile) END AS level
    FROM past JOIN profile USING (demand_group, weekday)
    GROUP BY region, demand_group
),
level AS (
    SELECT region, demand_group,
           coalesce(level, (SELECT avg(level) FROM own_level AS o
                            WHERE o.demand_group = series.demand_group), 0.0) AS level
    FROM series LEFT JOIN own_level USING (region, demand_group)
),
fitted AS (
    SELECT region, demand_group, date, weekday, units, level * profile AS expected
    FROM past JOIN level USING (region, demand_group) JOIN profile USING (demand_group, weekday)
),
trend AS (
    SELECT series.region, series.demand_group,
        ln((1 + coalesce(sum(units) FILTER (
            WHERE f.region = series.region AND f.demand_group = series.demand_group
              AND date >= date(:origin, '-28 days')), 0))
         / (1 + coalesce(sum(expected) FILTER (
            WHERE f.region = series.region AND f.demand_group = series.demand_group
              AND date >= date(:origin, '-28 days')), 0))) AS trend_28,
        ln((1 + coalesce(sum(units) FILTER (
            WHERE f.region = series.region AND f.demand_group = series.demand_group
              AND date >= date(:origin, '-7 days')), 0))
         / (1 + coalesce(sum(expected) FILTER (
            WHERE f.region = series.region AND f.demand_group = series.demand_group
              AND date >= date(:origin, '-7 days')), 0))) AS trend_7,
        ln((1 + coalesce(sum(units) FILTER (
            WHERE f.demand_group = series.demand_group AND date >= date(:origin, '-28 days')), 0))
         / (1 + coalesce(sum(expected) FILTER (
            WHERE f.demand_group = series.demand_group AND date >= date(:origin, '-28 days')), 0)))
            AS group_trend_28,
        ln((1 + coalesce(sum(units) FILTER (
            WHERE f.demand_group = series.demand_group AND date >= date(:origin, '-7 days')), 0))
         / (1 + coalesce(sum(expected) FILTER (
            WHERE f.demand_group = series.demand_group AND date >= date(:origin, '-7 days')), 0)))
            AS group_trend_7,
        ln((1 + coalesce(sum(units) FILTER (
            WHERE f.region = series.region AND date >= date(:origin, '-28 days')), 0))
         / (1 + coalesce(sum(expected) FILTER (
            WHERE f.region = series.region AND date >= date(:origin, '-28 days')), 0)))
            AS region_trend_28,
        ln((1 + coalesce(sum(units) FILTER (
            WHERE f.region = series.region AND date >= date(:origin, '-7 days')), 0))
         / (1 + coalesce(sum(expected) FILTER (
            WHERE f.region = series.region AND date >= date(:origin, '-7 days')), 0)))
            AS region_trend_7
    FROM series, fitted AS f
    GROUP BY series.region, series.demand_group
),
weekday_ratio AS (
    SELECT region, demand_group, weekday,
           ln((1.0 + sum(units)) / (1.0 + sum(expected))) AS weekday_ratio
    FROM fitted
    GROUP BY region, demand_group, weekday
),
known_week AS (
    SELECT DISTINCT region, week FROM promotions
),
daily AS (
    SELECT series.region, series.demand_group, days.date,
           coalesce(display, 0) AS display, coalesce(mailer, 0) AS mailer
    FROM series
    JOIN (SELECT DISTINCT date FROM long UNION SELECT date FROM targets) AS days
    JOIN known_week AS k
      ON k.region = series.region AND k.week = date(days.date, '-6 days', 'weekday 1')
    LEFT JOIN promotions AS p
      ON p.region = series.region AND p.demand_group = series.demand_group AND p.week = k.week
),
usual AS (
    SELECT region, demand_group, avg(display) AS display, avg(mailer) AS mailer
    FROM daily
    WHERE date < :origin AND date >= date(:origin, '-56 days')
    GROUP BY region, demand_group
)
SELECT ln(level + 0.02) AS log_level,
       trend_28, trend_7, group_trend_28, group_trend_7, region_trend_28, region_trend_7,
       coalesce(weekday_ratio, 0.0) AS weekday_ratio,
       ln((1.0 + daily.display) / (1.0 + usual.display)) AS display_change,
       ln((1.0 + daily.mailer) / (1.0 + usual.mailer)) AS mailer_change,
       step AS horizon,
       (strftime('%w', targets.date) + 6) % 7 AS weekday,
       CAST(strftime('%d', targets.date) AS INTEGER) AS day_of_month,
       (SELECT count(DISTINCT demand_group) FROM series AS s
        WHERE s.demand_group < series.demand_group) AS demand_group,
       level * coalesce(profile, 1.0) AS formula
FROM series
CROSS JOIN targets
JOIN level USING (region, demand_group)
JOIN trend USING (region, demand_group)
LEFT JOIN profile
  ON profile.demand_group = series.demand_group AND profile.weekday = strftime('%w', targets.date)
LEFT JOIN weekday_ratio AS w
  ON w.region = series.region AND w.demand_group = series.demand_group
 AND w.weekday = strftime('%w', targets.date)
LEFT JOIN daily
  ON daily.region = series.region AND daily.demand_group = series.demand_group
 AND daily.date = targets.date
LEFT JOIN usual
  ON usual.region = series.region AND usual.demand_group = series.demand_group
ORDER BY series.region, series.demand_group, step
