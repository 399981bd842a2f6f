const before = 1;

pub const Shelf = struct {
    width: u8,

    fn broken(a: i32 { return a; }

    pub fn afterTheError() void {}
};

pub fn last() void {
    const first, const second = pair();
    _ = first + second;
}
