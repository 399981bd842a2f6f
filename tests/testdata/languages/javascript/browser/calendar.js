'use strict';
// A script that keeps its names to itself: a block, functions called on the spot, a module for every loader.
{
    const Calendar = {
        months: ['January', 'February'],
        /** Draws one month. */
        draw: function (month) {
            const cells = [];
            for (const day of month) {
                const cell = { day: day, show() {} };
                cells.push(cell);
            }
            function later() {}
        },
        drawNext() {},
    };
    let current = 0;
    function attach(id) {
        const box = document.getElementById(id);
    }
    window.Calendar = Calendar;
    window.calendarIcons = {
        today: () => '*',
    };
}

if (window.legacy) {
    const local = 1;
    function inCondition() {}
}

(function ($, root) {
    var cache = {}, count = 0;
    var handlers;
    handlers = {
        open: function (event) {},
    };

    function Picker(element) {
        this.element = element;
        var inner = 1;
    }

    Picker.prototype.show = function () {};

    $.extend(Picker.prototype, {
        hide: function () {},
        toggle() {},
    });

    Object.assign(root.tools, { measure: () => 1 });

    Picker.prototype = {
        close: function () {},
    };

    $(function () {
        var waiting = 1;
        function onReady() {}
    });

    const helpers = { parse(text) {} };
    root.picker = function (options) {};
})(jQuery, this);

!function () {
    function negated() {}
}();

;(() => {
    const arrow = () => {};
    const limit = 3;
}).call(this);

(async function main() {
    const options = { verbose() {} };
    function run() {}
})();

const result = (() => {
    const sum = 1 + 2;
    return sum;
})();

// The module pattern: what a function called on the spot leaves behind.
var Bus = function () {
    'use strict';
    var listeners = [];
    function Bus() {
        this.size = 0;
    }
    mixin(Bus.prototype, {
        on: function on(name) {},
    });
    return { make() {} };
}();

(function (root, factory) {
    if (typeof define === 'function' && define.amd) {
        define(['jquery'], factory);
    } else {
        root.Slider = factory(root.jQuery);
    }
})(this, function ($) {
    function Slider() {}
    Slider.prototype.move = function (to) {
        var self = this;
    };
    return Slider;
});

define('panel', ['jquery'], function ($) {
    var width = 100;
    function Panel() {}
    return Panel;
});

function ordinary() {
    var // what a deferred object is made of
        state = 'pending',
        promise = {
            then: function (done) {},
            size: 1,
            always() {},
        },
        list = [{ listed: function () {} }];
    wait(promise, { option: function () {} });
    this.caller = { onJoin: function () {} };
    (function () {
        var deeper = 1;
        function found() {}
    })();
}

export function plugins() {
    return [
        { name: 'first', transform(code) { return function inTransform() {}; } },
        { name: 'second', load: async (id) => id },
    ];
}
