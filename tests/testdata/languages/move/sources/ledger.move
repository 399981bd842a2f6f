address 0x42 {
/// Accounts of the keepers.
module ledger {
    use aptos_std::table::{Self, Table};
    use std::signer;
    friend 0x42::shop;
    friend 0x42::kiosk;

    const MAX: u64 = 1_000;

    struct Account has key { balance: u64, notes: Table<u64, vector<u8>> }

    struct Wrapper<T>
        has copy, drop
    {
        inner: T
    }

    #[resource_group_member(group = aptos_framework::object::ObjectGroup)]
    struct Grouped has key {
        flag: bool,
    }

    #[view]
    public fun balance_of(owner: address): u64 acquires Account {
        borrow_global<Account>(owner).balance
    }

    public(friend) inline fun with_account(
        owner: address, change: |&mut Account|
    ) acquires Account {
        change(borrow_global_mut<Account>(owner));
    }

    package fun reset(owner: &signer) acquires Account
    {
        let account = borrow_global_mut<Account>(signer::address_of(owner));
        account.balance = 0;
    }

    native fun digest<T>(value: &T): vector<u8>;
    native struct Opaque has store;

    spec module {
        pragma verify = true;
        invariant forall a: address: global<Account>(a).balance <= MAX;
    }

    spec fun total(owners: vector<address>): u64 {
        0
    }

    spec schema Unchanged {
        owner: address;
        ensures global<Account>(owner) == old(global<Account>(owner));
    }

    spec balance_of(owner: address): u64 {
        include Unchanged;
    }

    spec Account {
        invariant balance <= MAX;
    }
}
}

script {
    use 0x42::ledger;
    const ALL: u64 = 10;

    fun main(account: signer) {
        ledger::reset(&account);
    }
}
