#!/usr/bin/env dub
/+ dub.sdl: name "dialogue" +/
/**
 * Dialogues of a text adventure.
 * class Fake {}
 */
module adventure.dialogue;

import std.stdio : writeln, File;
import std.algorithm, std.range;
import io = std.file;
import std.traits : isCallable = isSomeFunction, Parameters;
public import adventure.world;
static import core.memory;

/+ nested /+ void commented() {} +/ class Hidden {} +/
version (Windows) { import core.sys.windows.windows; }
else version = Posixish;

alias Line = string;
alias Callback = void delegate(Speaker, scope const(char)[] text) @safe nothrow;
alias int Legacy;
alias Pair(T) = Tuple!(T, T);
alias Visitor(T) = T delegate(ref T), Other = int;

enum maxLines = 64;
enum string banner = q{ class InTokenString { void no() {} } };
enum double ratio = 1.5, half = 0.5;
enum Mood : ubyte { calm, angry = 4, @deprecated sad }
enum { anonymousA, anonymousB = 2 }
enum isLine(T) = is(T : Line);

immutable string[] greetings = ["hello", `class Raw {}`, r"void raw() {}"];
__gshared int counter;
shared static uint total = 0, spare;
private static immutable(ubyte)[4] magic = [1, 2, 3, 4];
auto started = false;
const ref int delegate(int) handler;
extern (C) __gshared int c_counter;

static this() { total = 1; }
shared static ~this() {}

/// Says something.
@safe pure nothrow @nogc
bool isQuestion(scope const(char)[] text) => text.length && text[$ - 1] == '?';

extern (C++, "engine") {
    void engineStart();
    struct EngineState;
    class EngineObject { void tick(); }
}

extern (C) int printf(const char* format, ...) @trusted;
deprecated("use say") void shout(string s) { say(s); }

interface Speaker {
    @property string name() const;
    void say(Line line);
    final void repeat(Line line, int times = 2) { foreach (_; 0 .. times) say(line); }
    static Speaker nobody() { return null; }
}

abstract class Character : Speaker {
    private string name_;
    protected Mood mood = Mood.calm;
    static int count;
    enum limit = 3;
    package(adventure) Character[] friends;
    union { int asInt; float asFloat; }

    this(string name) { name_ = name; count++; }
    this(this T)(T other) if (is(T : Character)) {}
    ~this() { count--; }

    override string name() const { return name_; }
    @property void name(string value) { name_ = value; }
    abstract Line answer(Line question);
    invariant { assert(name_.length, "class InInvariant {}"); }
    invariant (count >= 0);

    T opCast(T : bool)() const { return mood != Mood.sad; }
    Character opBinary(string op : "~")(Character other) { return this; }
    auto opDispatch(string member, Args...)(Args args) { mixin("return " ~ member ~ ";"); }
    final override size_t toHash() @trusted nothrow { return 0; }
    alias name this;

    private class Memory {
        Line[] lines;
        void remember(Line line) { lines ~= line; }
    }

    unittest {
        auto m = new Memory;
    }
}

final class Merchant(Goods, alias price = 3, size_t n = 4, Extra...) : Character
if (is(Goods == class) && n > 0)
{
    Goods[n] stock;

    this() { super("merchant"); }

    override Line answer(Line question)
    in (question !is null)
    out (result; result.length > 0, "silent")
    do
    {
        int inner(int x) { return x + 1; }
        static struct Local { int field; }
        alias twice = (a) => a * 2;
        auto local = inner(twice(1));
        scope (exit) writeln("void exitFake() {}");
        with (Mood) switch (mood) {
            case calm: return "yes";
            default: break;
        }
        return question.filter!(c => c != '!').to!string;
    }
}

struct Choice(T)
{
    T value;
    string text = "none";
    int delegate(T) effect;
    private uint flags : 3;

    @disable this();
    this(T value) { this.value = value; }
    this(this) {}
    bool opEquals(const Choice other) const { return value == other.value; }
    int opCmp(ref const Choice other) const => 0;
    ref inout(T) get() inout return { return value; }
    static Choice!T of(T value) { return Choice(value); }
    static if (is(T == int)) {
        int doubled() { return value * 2; }
    } else {
        T same() { return value; }
    }
    version (unittest) void forTests() {}
}

struct Opaque;
union Packed { uint all; ubyte[4] bytes; }

template Chain(T, string name = "chain") {
    alias Chain = T[];
    enum length = name.length;
    T head(T[] all) { return all[0]; }
}

template say(Args...) {
    void say(Args args) { writeln(args); }
}

mixin template Remembering() {
    private Line[] memory;
    void remember(Line line) { memory ~= line; }
}

class Guard : Character {
    mixin Remembering;
    mixin Remembering second;
    this() { super("guard"); }
    override Line answer(Line) { return memory.empty ? "halt" : memory.back; }
}

auto converse(S : Speaker, R)(S speaker, R lines)
    if (isInputRange!R && is(ElementType!R : Line))
{
    struct Result {
        bool empty() { return lines.empty; }
        Line front() { return lines.front; }
    }
    return Result();
}

ref int bump(return ref int x) { return ++x; }
void variadic(T...)(lazy string message, T args, string file = __FILE__, size_t line = __LINE__) {}
int[string] counts(in string[] words) pure { int[string] r; foreach (w; words) r[w]++; return r; }
private auto lambda = (int x) => x + 1;
immutable(int)* pointer(int* p) { return cast(immutable) p; }

debug (verbose) void trace(string s) { writeln(s); }
else void trace(string) {}

static if (maxLines > 10)
    int big() { return 1; }
else
    int small() { return 2; }

mixin("int generated() { return 3; }");

string heredoc = q"EOS
void inHeredoc() {}
EOS";

@("a guard answers") unittest
{
    auto guard = new Guard;
    assert(guard.answer("?") == "halt");
}

int main(string[] args)
{
    foreach (i, arg; args) writeln(i, ": ", arg);
    return 0;
}
