"""Parsing stack frames and signatures by their shape alone."""

import pytest

from codecompass.query.messages.traces_and_signatures import StackFrame, declared_name, frames, is_signature


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ('  File "shop/limits.py", line 15, in allow', StackFrame("shop/limits.py", 15, "allow")),
        ('  File "/srv/a b/x.py", line 3, in Outer.<locals>.inner', StackFrame("/srv/a b/x.py", 3, "Outer.inner")),
        ('  File "x.py", line 1, in <module>', StackFrame("x.py", 1)),
        ("\tat a.b.Cache.put(Cache.java:12)", StackFrame("Cache.java", 12, "a.b.Cache.put")),
        ("\tat app//a.b.Cache$Entry.lambda$load$0(Cache.java:33)", StackFrame("Cache.java", 33, "a.b.Cache.Entry.load")),
        ("\tat java.base/a.b.Cache.<init>(Cache.java:9)", StackFrame("Cache.java", 9, "a.b.Cache")),
        ("main.go:12 +0x1", StackFrame("main.go", 12)),
        ("\t/home/me/shop/pkg/store.go:120 +0x1d4", StackFrame("/home/me/shop/pkg/store.go", 120)),
        ("    at load (file.js:1:2)", StackFrame("file.js", 1, "load")),
        ("    at async Cart.total [as sum] (file:///srv/cart.mjs:10:2)", StackFrame("/srv/cart.mjs", 10, "Cart.total")),
        ("    at new Cart (webpack://shop/./src/cart.ts:7:11)", StackFrame("./src/cart.ts", 7, "Cart")),
        ("    at /srv/cart.js:10:2", StackFrame("/srv/cart.js", 10)),
        ("total@http://localhost:3000/static/cart.js:1:2", StackFrame("static/cart.js", 1, "total")),
        ("src/main.rs:3:5", StackFrame("src/main.rs", 3)),
        ("  --> src/main.rs:3:5", StackFrame("src/main.rs", 3)),
        ("thread 'main' panicked at src/main.rs:3:5:", StackFrame("src/main.rs", 3)),
        ("app/cart.rb:12:in 'Cart#total'", StackFrame("app/cart.rb", 12, "Cart#total")),
        ("app/cart.rb:12:in `block (2 levels) in total'", StackFrame("app/cart.rb", 12, "total")),
        ("#0 /srv/Cart.php(12): Shop\\Cart->total(1)", StackFrame("/srv/Cart.php", 12, "Shop\\Cart->total")),
        ("   at Shop.Cart.Total(String a) in C:\\src\\Cart.cs:line 12", StackFrame("C:/src/Cart.cs", 12, "Shop.Cart.Total")),
        ("    (shop 1.0.0) lib/cart.ex:12: Shop.Cart.total/2", StackFrame("lib/cart.ex", 12, "Shop.Cart.total")),
        ("#1  0x00005 in shop::total (a=1) at cart.cc:12", StackFrame("cart.cc", 12, "shop::total")),
        ("    #0 0x4f in shop::total(int) /srv/cart.cc:12:3", StackFrame("/srv/cart.cc", 12, "shop::total")),
        ("bin/shop:62:5", StackFrame("bin/shop", 62)),
        ("cart.lua:12: in function 'total'", StackFrame("cart.lua", 12, "total")),
    ],
)
def test_a_line_of_a_trace_gives_a_path_a_line_and_a_name(line, frame):
    assert frames(line) == (frame,)


@pytest.mark.parametrize(
    ("trace", "frame"),
    [
        ("main.(*Cart).Total(0xc000, {0x1, 0x2})\n\t/srv/cart.go:12 +0x1", StackFrame("/srv/cart.go", 12, "main.Cart.Total")),
        ("github.com/x/shop.Total(...)\n\t/srv/cart.go:3", StackFrame("/srv/cart.go", 3, "github.com/x/shop.Total")),
        (
            "   2: shop::cart::total::h0123456789abcdef\n             at ./src/c.rs:3:5",
            StackFrame("./src/c.rs", 3, "shop::cart::total"),
        ),
        (
            "   3: <shop::Cart as core::fmt::Debug>::fmt\n             at src/c.rs:9:5",
            StackFrame("src/c.rs", 9, "shop::Cart::fmt"),
        ),
    ],
)
def test_go_and_rust_name_the_function_a_line_above(trace, frame):
    assert frames(trace) == (frame,)


def test_the_innermost_frame_comes_first_also_where_it_is_printed_last():
    python = 'Traceback:\n  File "a.py", line 1, in outer\n    inner()\n  File "b.py", line 2, in inner\nValueError'
    java = "Exception\n\tat A.inner(A.java:2)\n\tat B.outer(B.java:1)"

    assert [frame.name for frame in frames(python)] == ["inner", "outer"]
    assert [frame.name for frame in frames(java)] == ["A.inner", "B.outer"]


@pytest.mark.parametrize("prefix", ["INTERNALERROR> ", "app_1  | ", "> ", "2026-01-02 ERROR "])
def test_the_innermost_frame_comes_first_whatever_stands_before_each_line(prefix):
    trace = ['  File "a.py", line 1, in outer', "    inner()", '  File "b.py", line 2, in inner']

    assert [frame.name for frame in frames("\n".join(prefix + line for line in trace))] == ["inner", "outer"]


def test_frames_of_a_notebook_are_read_with_the_line_that_an_arrow_marks():
    older = (
        "~/shop/cart.py in outer(x)\n      1 def outer(x):\n----> 2     inner(x)\n~/shop/items.py in inner(x)\n----> 7     1 / 0"
    )
    newer = "File ~/shop/cart.py:2, in Cart.outer(self)\n      1 def\n----> 2 x\n\nFile ~/shop/items.py:7, in inner(x)\n----> 7 y"
    inner = StackFrame("~/shop/items.py", 7, "inner")

    assert frames(older) == (inner, StackFrame("~/shop/cart.py", 2, "outer"))
    assert frames(newer) == (inner, StackFrame("~/shop/cart.py", 2, "Cart.outer"))


@pytest.mark.parametrize(
    "text", ["parse http header", "a ratio of 3:4", "version v1.2:3", "see chapter (3)", "std::vec", "", ":1", "(1"]
)
def test_other_text_has_no_frames(text):
    assert frames(text) == ()


@pytest.mark.parametrize("piece", ["a.", "/", "a/", "at a.", "a:1", "#1 a", "<", "@", "a(1", "func (a"])
def test_long_texts_of_any_kind_are_read_to_an_end(piece):
    """Patterns that search for a path could take quadratic time, so only a limited part of the text is read."""
    text = f"{piece * 5_000}:1\n" * 20

    assert isinstance(frames(text), tuple)
    assert isinstance(declared_name(text), str)


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("def allow(self, client: str) -> bool:", "allow"),
        ("def self.allow(client)", "allow"),
        ("class Cart(Base):", "Cart"),
        ("public class Cart<T> : Base", "Cart"),
        ("func (s *Server) Serve(l net.Listener) error", "Server.Serve"),
        ("func (Server[T]) Serve()", "Server.Serve"),
        ("type Handler func(w http.ResponseWriter)", "Handler"),
        ("pub async fn run<T: X>(self) -> u8", "run"),
        ("impl<T> Queue<T> for Ring<T>", "Ring"),
        ("public static void main(String[] args)", "main"),
        ("public List<String> getNames()", "getNames"),
        ("void Cart::total(int x) const", "Cart::total"),
        ("template <typename T> T max(T a, T b)", "max"),
        ("static int queue_push(struct queue *q, int v)", "queue_push"),
        ("export default function App()", "App"),
        ("const load = async (x) => {", "load"),
        ("fun <T> Cart.total(x: T)", "Cart.total"),
        ("defmodule Shop.Cart do", "Shop.Cart"),
        ("total :: Int -> Cart", "total"),
        ("function M.complete(cmd, prefix)", "M.complete"),
        ("function Cart:total(x)", "Cart.total"),
        ("const char *cart_name(int i)", "cart_name"),
        ("const useCart = create(x)", "useCart"),
        ("public fun Class<*>.total(block: () -> Unit = {})", "Class.total"),
        ("Cart.total(x)", "Cart.total"),
        ("this.total(x)", "total"),
        ("interface Cart<T> {", "Cart"),
        ("macro_rules! vec", "vec"),
    ],
)
def test_a_signature_gives_the_name_that_it_declares(signature, name):
    assert declared_name(signature) == name


@pytest.mark.parametrize("text", ["parse http header", "RateLimiter::reset", "class", "", "()", "where is it (really)"])
def test_other_text_declares_nothing_by_itself(text):
    assert not is_signature(text)


def test_a_sentence_that_mentions_a_call_is_no_signature():
    assert is_signature("int main(int argc, char **argv)")
    assert is_signature("allow(client)")
    assert not is_signature("where does allow(client) get its limit from")
    assert not is_signature("parse (json) values")
