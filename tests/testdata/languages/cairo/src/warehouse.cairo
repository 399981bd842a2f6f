//! A warehouse: shelves, tickets and who may take what.
//! fn not_a_function() {}

pub mod prices;
mod shelf;
pub(crate) mod tickets;

use core::num::traits::{Zero, One};
use core::dict::Felt252Dict as Dict;
use starknet::storage::{
    Map, StoragePathEntry,
    StoragePointerReadAccess, StoragePointerWriteAccess,
};
pub use shelf::{Shelf, ShelfTrait};
use openzeppelin::access::ownable::OwnableComponent;

const LIMIT: usize = 3 * 4; const OWNER: felt252 = 'owner';
pub const GREETING: felt252 = 'fn not_code() {}';
const TABLE: [u8; 3] = [1, 2, 3];
const LONG: u256 =
    0x1234;

/// A ticket for one crate.
#[derive(Drop, Copy, Serde, PartialEq)]
pub struct Ticket<T, +Drop<T>> {
    #[key]
    pub number: u64,
    /// Who holds it.
    pub holder: T, pub(crate) until: Option<u64>,
    fixed: [u8; 4],
}

struct Empty {}
struct Point { x: i32, y: i32 }

#[derive(Drop, Default)]
pub enum State {
    #[default]
    Waiting,
    Held: Ticket<felt252>,
    Moved: (u32, u32),
    Lost: Array<Span<u8>>, Found,
}

pub type Tickets = Array<Ticket<felt252>>;
type Pair<T> = (T, T);
extern type Bytes;

pub trait Priced<
    T,
    impl TDrop: Drop<T>
> {
    type Currency;
    const RATE: u128;
    fn price(self: @T) -> u128 nopanic;
    fn rounded(self: @T) -> u128 {
        (self.price() / Self::RATE) * Self::RATE
    }
}

pub impl TicketPriced<T, +Drop<T>> of Priced<Ticket<T>> {
    type Currency = felt252;
    const RATE: u128 = 10;
    #[inline(always)]
    fn price(self: @Ticket<T>) -> u128 nopanic { 3 }
}

impl PointAdd of core::traits::Add<Point> { fn add(lhs: Point, rhs: Point) -> Point { lhs } }
impl PointZero = core::num::traits::zero::ZeroImpl<Point>;

#[generate_trait]
pub impl StateImpl of StateTrait {
    fn is_lost(self: @State) -> bool {
        match self {
            State::Lost(_) => true,
            State::Held(Ticket { number, .. }) => *number == 0,
            _ => false,
        }
    }
}

// One after the other.
pub(crate) fn first(a: u32) -> u32 { a } fn second(b: u32) -> u32 { b }

pub fn moved<
    T,
    impl TCopy: Copy<T>,
    +Drop<T>,
>(
    ticket: Ticket<T>,
    mut to: [u32; 2],
) -> Result<Ticket<T>, felt252>
{
    let Ticket { number, holder, until, fixed } = ticket;
    let add = |a: u32, b: u32| -> u32 { a + b };
    let mut seen: Dict<u32> = Default::default();
    if number > 9 {
        return Err("too many; struct NotAStruct { a: u8 }");
    } else {
        loop {
            break;
        }
    }
    while let Some(next) = to.pop() {
        seen.insert(next.into(), 1);
    }
    Ok(Ticket { number, holder, until, fixed })
}

#[cairofmt::skip]
#[available_gas(1000)]
const fn area(width: u64, height: u64) -> u64 { width * height }

extern fn keccak(
    input: Span<u64>,
) -> Result<u256, felt252> implicits(RangeCheck, GasBuiltin) nopanic;

#[starknet::interface]
pub trait IWarehouse<TState> {
    fn store(ref self: TState, weight: u128) -> u64;
    fn take(ref self: TState, number: u64);
}

#[starknet::component]
pub mod LockComponent {
    #[storage]
    pub struct Storage {
        pub locked: bool,
    }

    #[event]
    #[derive(Drop, starknet::Event)]
    pub enum Event {
        #[flat]
        Locked: Locked,
        Unlocked: Unlocked,
    }

    #[derive(Drop, starknet::Event)]
    pub struct Locked { by: felt252 }
    #[derive(Drop, starknet::Event)]
    pub struct Unlocked {}

    #[embeddable_as(LockImpl)]
    impl Lock<
        TContractState, +HasComponent<TContractState>,
    > of super::ILock<ComponentState<TContractState>> {
        fn lock(ref self: ComponentState<TContractState>) {
            self.locked.write(true);
        }
    }
}

#[starknet::contract]
mod Warehouse {
    use super::{Ticket, IWarehouse};
    component!(path: super::LockComponent, storage: lock, event: LockEvent);

    #[storage]
    struct Storage {
        tickets: Map<u64, Ticket<felt252>>,
        #[substorage(v0)]
        lock: super::LockComponent::Storage,
        next: u64,
    }

    #[constructor]
    fn constructor(ref self: ContractState, owner: felt252) {
        self.next.write(1);
    }

    #[l1_handler]
    fn on_message(ref self: ContractState, from_address: felt252) {}

    #[abi(embed_v0)]
    impl WarehouseImpl of IWarehouse<ContractState> {
        fn store(ref self: ContractState, weight: u128) -> u64 {
            let number = self.next.read();
            self.next.write(number + 1);
            number
        }

        fn take(ref self: ContractState, number: u64) {
            assert(number < self.next.read(), 'unknown');
        }
    }

    #[external(v0)]
    fn count(self: @ContractState) -> u64 {
        self.next.read()
    }

    mod errors {
        pub const UNKNOWN: felt252 = 'unknown';
    }
}

#[cfg(test)]
mod tests {
    use super::first;

    #[test]
    #[should_panic(expected: 'unknown')]
    fn takes_nothing_unknown() {
        assert_eq!(first(1), 1);
    }

    #[test]
    fn area_of_a_square() { assert!(super::area(2, 2) == 4); }
}
