// SPDX-License-Identifier: MIT
pragma solidity >=0.8.24 <0.9.0;
pragma abicoder v2;

import "./Ground.sol";
import "@openzeppelin/contracts/access/Ownable.sol" as Access;
import * as Math from "../lib/Math.sol";
import {Slot, Window as LaunchWindow} from "./Slots.sol";
import { IERC721Receiver } from '@openzeppelin/contracts/token/ERC721/IERC721Receiver.sol';

/* contract Commented { function no() public {} } */

type SlotId is uint64;
using {add as +, next} for SlotId global;
using Math for uint256;

uint256 constant MAX_SATELLITES = 10 ** 3;
string constant LABEL = "contract InString { }";

error Crowded(SlotId slot, uint256 count);
event Launched(address indexed by, uint64 slot);

enum Phase { Ascent, Orbit, Decay }

struct Position {
    int128 latitude;
    int128 longitude;
    mapping(uint256 => Position[]) history;
}

function add(SlotId a, SlotId b) pure returns (SlotId) {
    return SlotId.wrap(SlotId.unwrap(a) + SlotId.unwrap(b));
}

function next(SlotId a) pure returns (SlotId) { return add(a, SlotId.wrap(1)); }

/// @title What listens to satellites.
/// @notice function fake() external;
interface ITracker is IERC721Receiver {
    struct Beacon { uint32 at; bytes32 signal; }
    enum Quality { Good, Bad }
    event Heard(uint256 indexed id, Beacon beacon) anonymous;
    error Silent();

    function track(uint256 id) external view returns (Position memory);
    function quality() external returns (Quality);
    receive() external payable;
}

library Angles {
    uint256 internal constant FULL = 360;
    bytes32 private constant SALT = keccak256("angles");

    function wrap(uint256 degrees) internal pure returns (uint256 wrapped) {
        unchecked { wrapped = degrees % FULL; }
    }

    function between(
        uint256 a,
        uint256 b
    )
        internal
        pure
        returns (uint256)
    {
        return a > b ? a - b : b - a;
    }
}

abstract contract Craft {
    address public immutable maker;
    uint256 internal fuel_;
    Phase public phase = Phase.Ascent;

    constructor(address maker_) payable {
        maker = maker_;
    }

    modifier onlyIn(Phase wanted) {
        require(phase == wanted, "wrong phase: modifier fake() { _; }");
        _;
    }
    modifier nonReentrant virtual;

    function burn(uint256 grams) public virtual returns (bool);
    function mass() public view virtual returns (uint256) { return fuel_; }
}

/**
 * @title A satellite.
 * @dev Keeps its neighbours.
 */
contract Satellite is Craft, Access.Ownable, ITracker {
    using Angles for uint256;
    using { Angles.between } for uint256;

    struct Neighbour {
        address payable who;
        uint64[4] slots;
        function(uint256) external returns (bool) callback;
    }

    uint256 private constant _LIMIT = 1 ether;
    uint256 public transient lock;
    mapping(address owner => mapping(SlotId => Neighbour)) public neighbours;
    Neighbour[] private _list;
    function(uint256) internal pure returns (uint256) private _shape;
    bytes public override data = hex"00ff";
    uint256[50] private __gap;

    event Moved(
        SlotId indexed from,
        SlotId indexed to
    );

    constructor(address maker_, SlotId slot)
        Craft(maker_)
        Access.Ownable(msg.sender)
    {
        emit Launched(maker_, SlotId.unwrap(slot));
    }

    receive() external payable {}
    fallback(bytes calldata input) external payable returns (bytes memory) {
        return input;
    }

    function burn(uint256 grams)
        public
        override(Craft)
        onlyIn(Phase.Orbit)
        nonReentrant
        returns (bool done)
    {
        if (grams > fuel_) revert Crowded({slot: SlotId.wrap(0), count: grams});
        assembly ("memory-safe") {
            function double(x) -> y { y := mul(x, 2) }
            let slot := fuel_.slot
            sstore(slot, sub(sload(slot), double(grams)))
        }
        (bool ok, ) = maker.call{value: 1 wei, gas: 5000}("");
        try this.quality() returns (Quality q) {
            done = q == Quality.Good;
        } catch Error(string memory reason) {
            revert(reason);
        } catch (bytes memory) {
            done = ok;
        }
    }

    function track(uint256 id) external view override returns (Position memory position) {
        position.latitude = int128(int256(id.wrap()));
        function(uint256) pure returns (uint256) f = Angles.wrap;
        f(id);
    }

    function quality() external pure override returns (Quality) { return Quality.Bad; }

    function _authorize(address) internal virtual onlyOwner {}
    function onERC721Received(address, address, uint256, bytes calldata) external pure returns (bytes4) {
        return this.onERC721Received.selector;
    }
}

contract Constellation {
    Satellite[] public satellites;
    uint public count;

    function deploy(bytes32 salt) external returns (Satellite s) {
        s = new Satellite{salt: salt}(msg.sender, SlotId.wrap(uint64(count++)));
        satellites.push(s);
    }
}

contract SatelliteTest is Test {
    Satellite internal satellite;

    function setUp() public { satellite = new Satellite(address(this), SlotId.wrap(1)); }
    function test_BurnReverts_WhenEmpty() public {
        vm.expectRevert(ITracker.Silent.selector);
        satellite.burn(1);
    }
    function testFuzz_Wrap(uint256 x) public pure { assertLt(Angles.wrap(x), 360); }
}
