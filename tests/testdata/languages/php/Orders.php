<?php

declare(strict_types=1);

namespace Shop\Orders;

use Shop\Money\Amount;
use Shop\Clock as SystemClock, Countable;
use Shop\{Cart, Customer as Buyer, Stock\Item};
use function Shop\Money\round_up;
use const Shop\Money\SCALE;
use function Shop\Text\{trim_all, fold as fold_text};

require_once __DIR__ . '/helpers.php';
include 'legacy/prices.php';
$settings = require __DIR__.'/../config/orders.php';
require __DIR__ . "/$lang.php";

const LIMIT = 20, MINIMUM = 1;
define('ORDER_PREFIX', 'O-');

/**
 * Anything that can be paid for.
 *
 * @template T
 */
interface Payable extends Countable
{
    const CURRENCY = 'EUR';

    public function total(): Amount;
}

trait HasHistory
{
    protected array $history = [];

    abstract protected function record(string $event): void;
}

/** How far an order has come. */
enum Status: string implements \JsonSerializable
{
    case Open = 'open';
    #[Deprecated]
    case Paid = 'paid';

    public const DEFAULT = self::Open;

    public static function parse(string $text): self
    {
        return self::from($text);
    }
}

// An order of one customer.
#[Entity(table: 'orders')]
#[Cached]
final class Order extends Model implements Payable, \Countable
{
    use HasHistory, Cancels {
        cancel as protected doCancel;
    }

    private const TABLE = 'orders', VERSION = 2;
    final protected const string KIND = 'order';

    public ?string $note = null, $reference;
    private static readonly array $cache;
    var $legacy;
    public string $title {
        get => ucfirst($this->title);
    }

    /** Makes an order. */
    #[Pure]
    public function __construct(
        private readonly string $id,
        // Who pays.
        protected ?Buyer $buyer = null,
        int $plain = 0,
    ) {
        $local = $plain;
    }

    #[Override]
    public function total(): Amount
    {
        $sum = function (Item $item) use ($rate) {
            return $item->price * $rate;
        };
        return array_reduce($this->items, fn ($a, $b) => $a + $sum($b), 0);
    }

    function implicitly_public() {}

    abstract protected static function build(
        array $rows,
    ): static;

    private function &listeners(): iterable
    {
        if (! function_exists('order_hook')) {
            function order_hook(Order $order): void {}
        }

        return [new class ($this) implements Listener {
            private int $calls = 0;

            public function handle(): void {}
        }];
    }
}

function place(Cart $cart): Order
{
    return new Order('1');
}

if (! class_exists('Legacy')) {
    abstract class Legacy {}
}

$format = fn (Amount $amount): string => (string) $amount;
$settings = [];

return new readonly class extends Migration {
    public function up(): void {}
};
