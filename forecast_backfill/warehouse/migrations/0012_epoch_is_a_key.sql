-- Commits keep the epoch from being raised, and nothing else: FOR KEY SHARE of a row holds up an
-- update of columns under a unique index, and lets all other columns change. Before, a pause had to
-- wait for a moment without any commit, which under load there may never be.

CREATE UNIQUE INDEX workload_control_epoch_is_a_key ON workload_control (workload, epoch);
COMMENT ON INDEX workload_control_epoch_is_a_key IS
    'Makes the epoch a key, so that commits lock it alone; never looked up.';
