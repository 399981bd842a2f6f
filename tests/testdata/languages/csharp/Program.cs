namespace Shop.Tools;

using Shop.Orders;

/* Starts the shop. */
internal static class Program
{
    private static int Main(string[] args)
    {
        return Run(args);
    }

    enum Mode { Fast, Slow }
}
