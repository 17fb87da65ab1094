-- Dimensions as they were landed: versions with half-open validity, products, promotion facts.
-- A version's key goes into the exclusion constraint as a range of one code, so that no extension
-- (btree_gist) is needed, which a server may lack or a role may not be allowed to create.

CREATE TYPE code_range AS RANGE (subtype = text, collation = "C");
COMMENT ON TYPE code_range IS 'A range of codes; [code, code] stands for one code.';

CREATE TABLE product (
    product_id text COLLATE "C" NOT NULL,
    department text COLLATE "C" NOT NULL,
    category text COLLATE "C" NOT NULL,
    demand_group text COLLATE "C" NOT NULL,
    exclusion text COLLATE "C" NOT NULL,
    CONSTRAINT product_is_unique PRIMARY KEY (product_id)
);
COMMENT ON TABLE product IS
    'The hierarchy, which has no history, and the rule that leaves a product out of demand.';
COMMENT ON CONSTRAINT product_is_unique ON product IS
    'A join with it never doubles a line.';

CREATE TABLE store_region (
    store_id text COLLATE "C" NOT NULL,
    region text COLLATE "C" NOT NULL,
    valid_from date,
    valid_to date,
    CONSTRAINT store_region_holds_a_date CHECK (valid_from < valid_to),
    CONSTRAINT store_region_does_not_overlap EXCLUDE USING gist (
        code_range(store_id, store_id, '[]') WITH &&,
        daterange(valid_from, valid_to) WITH &&
    )
);
COMMENT ON TABLE store_region IS
    'The region of a store on the dates [valid_from, valid_to); null is an open end.';
COMMENT ON CONSTRAINT store_region_holds_a_date ON store_region IS
    'A version that never holds is a mistake.';
COMMENT ON CONSTRAINT store_region_does_not_overlap ON store_region IS
    'A store is in one region on any date.';

CREATE TABLE shelf_price (
    product_id text COLLATE "C" NOT NULL,
    price_cents bigint NOT NULL,
    valid_from date,
    valid_to date,
    recorded_at timestamptz NOT NULL,
    CONSTRAINT shelf_price_is_not_negative CHECK (price_cents >= 0),
    CONSTRAINT shelf_price_holds_a_date CHECK (valid_from < valid_to),
    CONSTRAINT shelf_price_is_recorded_before_it_holds CHECK (
        recorded_at < valid_from::timestamp AT TIME ZONE 'UTC'
    ),
    CONSTRAINT shelf_price_does_not_overlap EXCLUDE USING gist (
        code_range(product_id, product_id, '[]') WITH &&,
        daterange(valid_from, valid_to) WITH &&
    )
);
CREATE INDEX shelf_price_by_product ON shelf_price (product_id, valid_from);
COMMENT ON TABLE shelf_price IS
    'The regular price of a product on the dates [valid_from, valid_to); null is an open end.';
COMMENT ON CONSTRAINT shelf_price_is_not_negative ON shelf_price IS
    'A price is what a piece costs.';
COMMENT ON CONSTRAINT shelf_price_holds_a_date ON shelf_price IS
    'A version that never holds is a mistake.';
COMMENT ON CONSTRAINT shelf_price_is_recorded_before_it_holds ON shelf_price IS
    'A price entered afterwards would tell a forecast what nobody knew.';
COMMENT ON CONSTRAINT shelf_price_does_not_overlap ON shelf_price IS
    'A product has one regular price on any date.';

CREATE TABLE promotion (
    week date NOT NULL,
    region text COLLATE "C" NOT NULL,
    demand_group text COLLATE "C" NOT NULL,
    stores bigint NOT NULL,
    products bigint NOT NULL,
    facts bigint NOT NULL,
    on_display bigint NOT NULL,
    on_mailer bigint NOT NULL,
    recorded_at timestamptz NOT NULL,
    CONSTRAINT promotion_has_one_row_a_week_region_and_group
        PRIMARY KEY (week, region, demand_group),
    CONSTRAINT promotion_week_begins_on_monday CHECK (extract(isodow FROM week) = 1),
    CONSTRAINT promotion_counts_its_facts CHECK (
        least(stores, products, facts, on_display, on_mailer) >= 0
        AND greatest(on_display, on_mailer) <= facts
    )
);
COMMENT ON TABLE promotion IS
    'Promotion facts (store, product) of a week, counted by region and demand group; '
    'the group '''' has those of products that are left out of demand or unknown.';
COMMENT ON CONSTRAINT promotion_has_one_row_a_week_region_and_group ON promotion IS
    'Facts are counted once.';
COMMENT ON CONSTRAINT promotion_week_begins_on_monday ON promotion IS
    'Weeks are named by their Monday.';
COMMENT ON CONSTRAINT promotion_counts_its_facts ON promotion IS
    'A fact is on display, in the mailer, both or neither.';

CREATE TABLE dimension_load (
    dimension text NOT NULL,
    part text NOT NULL,
    digest text NOT NULL,
    rows bigint NOT NULL,
    checksum numeric NOT NULL,
    loaded_at timestamptz NOT NULL,
    CONSTRAINT dimension_load_has_one_row_a_part PRIMARY KEY (dimension, part),
    CONSTRAINT dimension_load_dimension_is_known CHECK (
        dimension IN ('product', 'store_region', 'shelf_price', 'promotion')
    )
);
COMMENT ON TABLE dimension_load IS
    'Which landed content each dimension holds; a promotion week is a part of its own.';
COMMENT ON CONSTRAINT dimension_load_has_one_row_a_part ON dimension_load IS
    'What is stored came from one load.';
COMMENT ON CONSTRAINT dimension_load_dimension_is_known ON dimension_load IS
    'The dimensions of core/dimension.py, no other.';

CREATE FUNCTION shelf_price_at(product text, day date)
RETURNS TABLE (price_cents bigint) LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT p.price_cents
    FROM shelf_price AS p
    WHERE p.product_id = product
      AND (p.valid_from IS NULL OR p.valid_from <= day)
      AND (p.valid_to IS NULL OR day < p.valid_to);
END;
COMMENT ON FUNCTION shelf_price_at IS
    'The regular price that held on the day, one row or none; a line is joined by its own day.';

CREATE VIEW daily_demand_at_shelf_price AS
SELECT d.*, p.price_cents AS shelf_price_cents
FROM daily_demand AS d
LEFT JOIN LATERAL shelf_price_at(d.product_id, d.date) AS p ON true;
COMMENT ON VIEW daily_demand_at_shelf_price IS
    'Demand with the regular price that held on its own date, null where none is known.';
