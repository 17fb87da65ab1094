-- name: find_model(date)^
SELECT date, version, kind, reason, parameters, seed, window_digest, data_digest, verdict,
       degraded_for, regions, groups, expected, left_out, moved, changed_dates, training_rows,
       holdout_model_wape, holdout_formula_wape, seconds
FROM demand_model WHERE date = :date;

-- name: find_artefact(date, version)^
SELECT artefact FROM demand_model WHERE date = :date AND version = :version;

-- name: clear_model(date)!
DELETE FROM demand_model WHERE date = :date;

-- name: store_model(date, version, kind, reason, artefact, parameters, seed, window_digest, data_digest, verdict, degraded_for, regions, groups, expected, left_out, moved, changed_dates, training_rows, holdout_model_wape, holdout_formula_wape, seconds, workload, run_id, campaign_id)!
INSERT INTO demand_model
    (date, version, kind, reason, artefact, parameters, seed, window_digest, data_digest, verdict,
     degraded_for, regions, groups, expected, left_out, moved, changed_dates, training_rows,
     holdout_model_wape, holdout_formula_wape, seconds, trained_at, workload, run_id, campaign_id)
VALUES (:date, :version, :kind, :reason, :artefact, :parameters, :seed, :window_digest,
        :data_digest, :verdict, :degraded_for, :regions, :groups, :expected, :left_out, :moved,
        :changed_dates, :training_rows, :holdout_model_wape, :holdout_formula_wape, :seconds,
        clock_timestamp(), :workload, :run_id, :campaign_id);
