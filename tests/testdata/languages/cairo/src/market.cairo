// A market of crates.
use starknet::{ContractAddress, get_caller_address};
use core::array::ArrayTrait;
use market::prices::price_of;

const MAX_CRATES: u32 = 100;

#[derive(Drop, Serde, starknet::Store)]
pub struct Crate {
    pub id: u32,
    owner: ContractAddress,
    weight: u128,
}

#[derive(Copy, Drop)]
enum Quality {
    Fine,
    Fair: u8,
}

/// What can be weighed.
pub trait Weighed<T> {
    fn weight(self: @T) -> u128;
    fn is_heavy(self: @T) -> bool {
        self.weight() > 1000
    }
}

impl CrateWeighed of Weighed<Crate> {
    fn weight(self: @Crate) -> u128 {
        *self.weight
    }
}

type Crates = Array<Crate>;

#[starknet::interface]
trait IMarket<TState> {
    fn offer(ref self: TState, weight: u128) -> u32;
    fn count(self: @TState) -> u32;
}

#[starknet::contract]
mod Market {
    use super::{Crate, IMarket, MAX_CRATES};

    #[storage]
    struct Storage {
        count: u32,
        crates: LegacyMap<u32, Crate>,
    }

    #[event]
    #[derive(Drop, starknet::Event)]
    enum Event {
        Offered: Offered,
    }

    #[derive(Drop, starknet::Event)]
    struct Offered {
        id: u32,
    }

    #[constructor]
    fn constructor(ref self: ContractState) {
        self.count.write(0);
    }

    #[abi(embed_v0)]
    impl MarketImpl of IMarket<ContractState> {
        fn offer(ref self: ContractState, weight: u128) -> u32 {
            let id = self.next_id();
            assert!(id < MAX_CRATES, "full; fn not_code()");
            self.emit(Offered { id });
            id
        }

        fn count(self: @ContractState) -> u32 {
            self.count.read()
        }
    }

    #[generate_trait]
    impl Private of PrivateTrait {
        fn next_id(ref self: ContractState) -> u32 {
            let next = self.count.read() + 1;
            self.count.write(next);
            next
        }
    }
}

// The price of all crates.
pub fn total(crates: Span<Crate>) -> u128 {
    let mut sum = 0;
    for crate in crates {
        sum += price_of(crate.weight());
    };
    sum
}

extern fn pedersen(a: felt252, b: felt252) -> felt252 nopanic;
