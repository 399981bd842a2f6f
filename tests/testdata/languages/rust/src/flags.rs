//! What macros define; not `bitflags! { struct Documented: u8 {} }`.

use bitflags::bitflags;

bitflags! {
    /// How a file may be opened.
    #[derive(Clone, Copy, Debug)]
    pub struct Access: u32 {
        const READ = 1;
        const WRITE = 1 << 1;
        /// Both.
        const ALL = Self::READ.bits() | Self::WRITE.bits();
    }

    struct Internal: u8 {
        const HIDDEN = 0b1;
    }
}

quick_error! {
    #[derive(Debug)]
    pub enum StoreError {
        Io(err: std::io::Error) { from() }
        Missing(name: String) { display("{} is missing", name) }
    }
}

lazy_static! {
    static ref CACHE: Mutex<HashMap<String, Access>> = Mutex::new(HashMap::new());
    pub(crate) static ref LIMIT: usize = read_limit();
}

const PLAIN: u32 = 3;

fn read_limit() -> usize {
    // lazy_static! { static ref NONE: u8 = 1; }
    let text = "bitflags! { struct Quoted: u8 {} }";
    text.len()
}
