using System;

Console.WriteLine(Twice(2));
var answer = 42;

int Twice(int x)
{
    return x * 2;
}

class Holder { public string Text { get; set; } }
