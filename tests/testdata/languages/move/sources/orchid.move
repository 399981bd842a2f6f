/// Orchids that bloom once a year.
module garden::orchid {
    use std::string::{Self, String};
    use sui::object::{Self, UID};
    use garden::calendar;

    const E_NOT_IN_BLOOM: u64 = 1;
    const YEAR: u64 = 365;

    /// One plant.
    struct Orchid has key, store {
        id: UID,
        name: String,
        bloomed: u64,
    }

    struct Keeper has key {
        id: UID,
    }

    public enum Colour has copy, drop {
        White,
        Violet { dark: bool },
    }

    #[event]
    public struct Bloomed has copy, drop {
        name: String,
    }

    fun init(ctx: &mut TxContext) {
        transfer::transfer(Keeper { id: object::new(ctx) }, tx_context::sender(ctx));
    }

    /// Plants an orchid.
    public fun plant(name: vector<u8>, ctx: &mut TxContext): Orchid {
        Orchid {
            id: object::new(ctx),
            name: string::utf8(name),
            bloomed: 0,
        }
    }

    public entry fun bloom(orchid: &mut Orchid, _: &Keeper) {
        let day = calendar::today();
        assert!(can_bloom(orchid, day), E_NOT_IN_BLOOM);
        orchid.bloomed = day;
        event::emit(Bloomed { name: orchid.name });
    }

    public(friend) fun can_bloom(orchid: &Orchid, day: u64): bool {
        day - orchid.bloomed >= YEAR
    }

    // fun commented_out() {}
    inline fun for_all(orchids: &vector<Orchid>, f: |&Orchid|) {
        let i = 0;
        while (i < vector::length(orchids)) {
            f(vector::borrow(orchids, i));
            i = i + 1;
        };
    }

    native public fun hash(data: vector<u8>): vector<u8>;

    spec bloom {
        aborts_if orchid.bloomed > calendar::spec_today();
    }

    #[test]
    fun test_a_new_orchid_can_bloom() {
        let text = b"fun not_code() {}";
        assert!(YEAR > 0, 0);
    }
}
