-- What nightly's steps held, night by night, and the cap that was measured from it.

CREATE TABLE night_record (
    run_id text NOT NULL,
    step text NOT NULL,
    night date NOT NULL,
    shape text NOT NULL,
    slots integer NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL,
    CONSTRAINT night_record_has_one_row_a_step PRIMARY KEY (run_id, step),
    CONSTRAINT night_record_holds_a_slot CHECK (slots >= 1),
    CONSTRAINT night_record_ends_after_its_start CHECK (ended_at >= started_at)
);
COMMENT ON TABLE night_record IS
    'Steps of nightly runs with the slots that they held; night is the local date it began on.';
COMMENT ON CONSTRAINT night_record_has_one_row_a_step ON night_record IS
    'A step that is read again is corrected, not counted twice.';
COMMENT ON CONSTRAINT night_record_holds_a_slot ON night_record IS
    'What holds no slot does not count for the peak.';
COMMENT ON CONSTRAINT night_record_ends_after_its_start ON night_record IS
    'Slots are held from a start to an end.';
CREATE INDEX night_record_by_night ON night_record (night);

CREATE TABLE capacity_measure (
    measure_id bigint GENERATED ALWAYS AS IDENTITY,
    measured_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    measured_by text NOT NULL,
    source text NOT NULL,
    nights integer NOT NULL,
    slots integer NOT NULL,
    headroom integer NOT NULL,
    peak integer NOT NULL,
    peak_at timestamptz,
    cap integer NOT NULL,
    by_shape jsonb NOT NULL,
    together jsonb NOT NULL,
    profile jsonb NOT NULL,
    reason text NOT NULL,
    CONSTRAINT capacity_measure_is_numbered PRIMARY KEY (measure_id),
    CONSTRAINT capacity_measure_source_is_known CHECK (source IN ('nights', 'setting')),
    CONSTRAINT capacity_measure_says_who CHECK (measured_by ~ '[^[:space:]]'),
    CONSTRAINT capacity_measure_is_over_enough_nights CHECK (source <> 'nights' OR nights >= 3),
    CONSTRAINT capacity_measure_counts_slots CHECK (
        slots >= 1 AND peak >= 0 AND headroom >= 0 AND nights >= 0
    ),
    CONSTRAINT capacity_measure_cap_follows CHECK (
        cap = greatest(0, least(slots, slots - peak - headroom))
    )
);
COMMENT ON TABLE capacity_measure IS
    'Measured caps, the latest is in force where the cap is automatic; profile: [seconds, slots].';
COMMENT ON CONSTRAINT capacity_measure_is_numbered ON capacity_measure IS
    'The later measure has the higher number.';
COMMENT ON CONSTRAINT capacity_measure_source_is_known ON capacity_measure IS
    'A peak is measured over nights, or is the setting''s.';
COMMENT ON CONSTRAINT capacity_measure_says_who ON capacity_measure IS
    'Whoever applies a measure is named.';
COMMENT ON CONSTRAINT capacity_measure_is_over_enough_nights ON capacity_measure IS
    'A peak of fewer than three nights is chance.';
COMMENT ON CONSTRAINT capacity_measure_counts_slots ON capacity_measure IS
    'Slots, nights and headroom are counted.';
COMMENT ON CONSTRAINT capacity_measure_cap_follows ON capacity_measure IS
    'The cap is what the peak and the headroom leave, never what is idle.';
