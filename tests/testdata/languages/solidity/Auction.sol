// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

import "./Owned.sol";
import {Clock as Time, Calendar} from "../lib/Clock.sol";
import * as Math from "./math/Fixed.sol";
import "./Fees.sol" as Fees;

uint256 constant MAX_BIDS = 64;

type Price is uint128;

/// A bid that anybody can read.
struct PublicBid {
    address from;
    Price price;
}

enum Phase {
    Open,
    Revealing,
    Closed
}

error TooLate(uint256 ended, uint256 current);

/// Returns the larger of two prices.
function larger(Price a, Price b) pure returns (Price) {
    return Price.unwrap(a) > Price.unwrap(b) ? a : b;
}

interface IAuction {
    event BidPlaced(address indexed from, uint256 amount);

    function bid(bytes32 sealedBid) external payable;
    function winner() external view returns (address);
}

library Bids {
    struct List {
        PublicBid[] items;
        mapping(address => uint256) positions;
    }

    function add(List storage self, PublicBid memory one) internal returns (uint256) {
        require(self.items.length < MAX_BIDS, "full; // not a comment");
        self.items.push(one);
        self.positions[one.from] = self.items.length;
        return self.items.length;
    }

    function best(List storage self) internal view returns (PublicBid memory found) {
        for (uint256 i = 0; i < self.items.length; i++) {
            Price price = larger(found.price, self.items[i].price);
            if (Price.unwrap(price) != Price.unwrap(found.price)) {
                found = self.items[i];
            }
        }
    }
}

/**
 * @title An auction with sealed bids
 */
abstract contract Timed {
    uint256 internal immutable ends;

    constructor(uint256 duration) {
        ends = block.timestamp + duration;
    }

    modifier before() {
        if (block.timestamp >= ends) revert TooLate(ends, block.timestamp);
        _;
    }

    function remaining() public view virtual returns (uint256);
}

contract Auction is Owned, Timed(7 days), IAuction {
    using Bids for Bids.List;
    using Math for uint256;

    struct Sealed {
        bytes32 hash;
        uint256 deposit;
    }

    Phase public phase = Phase.Open;
    mapping(address => Sealed[]) private sealedBids;
    Bids.List private bids;
    address payable public immutable seller;
    bytes32 constant DOMAIN = keccak256("Auction");

    event Closed(address winner, Price price);

    constructor(address payable seller_) Owned(msg.sender) {
        seller = seller_;
    }

    receive() external payable {
        revert("bid instead");
    }

    fallback() external payable {}

    /// Places a sealed bid with a deposit.
    function bid(bytes32 sealedBid) external payable override before {
        sealedBids[msg.sender].push(Sealed({hash: sealedBid, deposit: msg.value}));
        emit BidPlaced(msg.sender, msg.value);
    }

    function reveal(Price price, bytes32 salt) external {
        bytes32 hash = keccak256(abi.encode(DOMAIN, price, salt));
        Sealed[] storage own = sealedBids[msg.sender];
        for (uint256 i = 0; i < own.length; i++) {
            if (own[i].hash == hash) {
                bids.add(PublicBid(msg.sender, price));
                delete own[i];
            }
        }
    }

    function close() external onlyOwner {
        PublicBid memory top = bids.best();
        phase = Phase.Closed;
        uint256 fee = Fees.of(Price.unwrap(top.price));
        seller.transfer(Price.unwrap(top.price) - fee);
        emit Closed(top.from, top.price);
    }

    function winner() external view override returns (address) {
        return bids.best().from;
    }

    function remaining() public view override returns (uint256) {
        return Time.until(ends);
    }

    function _hash(bytes memory data) private pure returns (bytes32 result) {
        assembly {
            result := keccak256(add(data, 32), mload(data))
        }
    }
}
