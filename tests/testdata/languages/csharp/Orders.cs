// Orders and what happens to them.
using System;
using System.Collections.Generic;
using static System.Math;
using Table = System.Collections.Generic.Dictionary<int, string>;
global using Shop.Common;
extern alias Legacy;

[assembly: Visible("Shop.Tests")]

namespace Shop.Orders
{
    namespace Inner { interface IEmpty { } }

    /// <summary>
    /// Keeps the orders of one <see cref="T:Shop.Customer"/>.
    /// </summary>
    /// <typeparam name="T">What is ordered.</typeparam>
    [Serializable]
    [Obsolete("use Ledger")]
    public abstract partial class Book<T> : Base<T>, IBook
        where T : class, new()
    {
        private const int Max = 3, Min = 1;
        public static readonly string Name = "book";
        int first, second = 2;
        private static readonly Dictionary<string, Func<int, int>> Handlers = new Dictionary<string, Func<int, int>>
        {
            { "double", x => x * 2 },
            { "negate", x => -x },
            { "nothing much", x => x },
        };
        public event EventHandler Changed;
        public event EventHandler Closed { add { first++; } remove { first--; } }

        /// <summary>The number of orders.</summary>
        [Column("n")]
        public int Count { get; private set; }
        public required string Label { get; init; } = "none";
        public int Double => Count * 2;
        public int Half
        {
            get { return Count / 2; }
        }
        public string this[int i] { get { return ""; } set { } }
        int IBook.Size { get; }

        public Book(int count) : base(count) { Count = count; }
        static Book() { }
        ~Book() { }

        // Adds an order.
        [Test, Category("slow")]
        public async Task<int> Add<U>(
            U order,
            out int position)
            where U : struct
        {
            int Local(int z)
            {
                return z;
            }
            static bool Check(int z) => z > 0;
            return Local(1);
        }

        protected internal abstract int Total();
        private protected virtual int Weight() => 0;
        void IBook.Close() { }
        [DllImport("native")] static extern int Native(int @event);
        public static Book<T> operator +(Book<T> a, Book<T> b) { return a; }
        public static bool operator true(Book<T> a) => true;
        public static implicit operator int(Book<T> a) => a.Count;

        public delegate void Handler(object sender);
        internal enum State : byte { Open, Closed = 2, [Obsolete] Lost }
        private class Page { public int Number; }
    }

    interface IBook : IDisposable
    {
        int Size { get; }
        void Close();
        static abstract IBook Create();
        event EventHandler Changed;
    }

    public readonly record struct Money(decimal Amount, string Currency);
    public record Person(string First, [property: Key] string Last) : Being(First)
    {
        public int Age { get; init; }
    }
    record Nothing;
    class Point(int x, int y) : Shape(x) { public int @class = y; }
    public delegate TResult Convert<in TSource, out TResult>(TSource from);
    file static class Helpers { public static void Print(this string text) { } }

#if NETFRAMEWORK
    class Old
#else
    class New
#endif
        : Base
    {
        void Work(
            int a
#if DEBUG
            , int b
#endif
        )
        {
#if A
            if (a > 0) {
#else
            if (a < 0) {
#endif
            }
            unsafe { *(int*)(p + 1) = *(int*)&a; }
        }
    }

    public interface IVariant
    {
        void Write(int value)
#if FEATURE_BODIES
        {
            Console.Write(value);
        }
#else
        ;
#endif
        int After { get; }
    }

    public ref partial struct Span { public int Length; }

    class Broken
    {
        void Before() { }
        void Oops( { int x = ;
        void After() { }
    }
}
