// Sealed bids for plots of a garden.
#[allow(unused_const, unused_field)]
module garden::auction;

use std::option::{Self, Option};
use std::vector as list;
use sui::{balance::{Self, Balance}, coin::Coin, clock::Clock};
use garden::orchid::Orchid;
public use fun garden::prices::round as Bid.round;
use fun bid_amount as Bid.amount;
friend garden::market;

// === Errors ===
#[error]
const ENotOpen: vector<u8> = b"const NOT_A_CONST: the auction is not open";
const ETooLow: u64 = 2; const EWrongOwner: u64 = 3;
const DAY_MS: u64 = 24 *
    60 * 60 * 1000;

/* public struct Commented has key { id: UID }
public fun commented() {} */

/// An auction.
public struct Auction<phantom T: store, Item: key + store> has key, store {
    id: UID,
    item: Option<Item>,
    bids: vector<Bid>, closes_at: u64,
    /// What is paid in.
    pot: Balance<T>,
}

public struct Bid(address, u64) has copy, drop, store;

public struct AUCTION has drop {}

#[allow(unused)]
public enum State has copy, drop, store {
    Open { until: u64 },
    Closed(address),
    /// Nobody came.
    Void,
}

public struct Opened has copy, drop { id: ID, closes_at: u64 }

fun init(otw: AUCTION, ctx: &mut TxContext) {
    let publisher = sui::package::claim(otw, ctx);
    transfer::public_transfer(publisher, ctx.sender());
}

/// Opens an auction
/// for one item.
public fun open<T: store, Item: key + store>(
    item: Item,
    clock: &Clock,
    ctx: &mut TxContext,
): Auction<T, Item> {
    Auction {
        id: object::new(ctx),
        item: option::some(item),
        bids: vector[],
        closes_at: clock.timestamp_ms() + DAY_MS,
        pot: balance::zero(),
    }
}

#[allow(lint(self_transfer))]
entry fun bid<T: store, Item: key + store>(self: &mut Auction<T, Item>, coin: Coin<T>, ctx: &TxContext) {
    assert!(coin.value() > self.highest(), ETooLow);
    self.bids.push_back(Bid(ctx.sender(), coin.value()));
    self.pot.join(coin.into_balance());
}

public(package) fun highest<T: store, Item: key + store>(self: &Auction<T, Item>): u64 {
    let mut most = 0;
    self.bids.do_ref!(|each| {
        if (each.bid_amount() > most) most = each.bid_amount();
    });
    most
}

fun bid_amount(bid: &Bid): u64 { bid.1 } fun bid_owner(bid: &Bid): address { bid.0 }

public fun state<T: store, Item: key + store>(self: &Auction<T, Item>, clock: &Clock): State {
    if (clock.timestamp_ms() < self.closes_at) return State::Open { until: self.closes_at };
    match (self.bids.length()) {
        0 => State::Void,
        _ => State::Closed(self.bids[0].bid_owner()),
    }
}

macro fun most<$T>($list: &vector<$T>, $by: |&$T| -> u64): u64 {
    let list = $list;
    'search: loop {
        break 'search $by(&list[0])
    }
}

public macro fun each<$T>($list: vector<$T>, $f: |$T|) { $list.do!($f) }

#[test_only]
public fun bid_for_testing(owner: address, amount: u64): Bid { Bid(owner, amount) }

#[test]
#[expected_failure(abort_code = ETooLow)]
fun low_bids_fail() {
    let bid = bid_for_testing(@0x1, 1);
    assert!(bid.bid_amount() > 1, ETooLow);
}

#[test, expected_failure]
fun fails() { abort 0 }
