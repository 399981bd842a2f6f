<?php

use App\Orders;

describe('orders', function () {
    beforeEach(fn () => Orders::clear());

    it('adds one', function () {
        expect(Orders::count())->toBe(1);
    });

    test("has a total", fn () => expect(1)->toBe(1))->group('sums');

    it("counts {$n}", function () {});
    it('is still to be written');
});
