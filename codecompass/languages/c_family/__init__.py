"""C and the languages that add to it: C++, Objective-C, and those of graphics processors."""
