/**
 * The store of articles.
 */
namespace java example.store
namespace py store.gen

include "shared.thrift"
include 'money.thrift'
cpp_include "<unordered_map>"

const i32 MAX_RESULTS = 100
const map<string, string> LABELS = {'new': 'New', 'sold_out': 'Sold out'}
const list<i32> SIZES = [1, 2, 3]

typedef i64 ArticleId
typedef map<string, list<shared.Tag>> TagsByGroup

# What an article is.
enum Kind {
  BOOK = 1,
  GAME = 2
  MUSIC,
  OTHER = 0x10;
}

enum Short { A, B = 2, C }

struct Article {
  1: required ArticleId id,
  2: string title;
  3: optional Kind kind = Kind.BOOK
  4: map<string, list<string>> attributes = {},
  5: money.Amount price (go.tag = "json:\"price\"")
  6: set<shared.Tag> tags
  // how often it was seen
  7: i64 views = 0
}

union Payload {
  1: string text
  2: binary data
}

// Raised for an unknown id.
exception NotFound {
  1: ArticleId id,
  2: string message
}

struct Empty {}

struct OneLine { 1: i32 a, 2: i32 b; 3: i32 c }

service Base {
  void ping()
}

/* Reads and changes articles. */
service Articles extends Base {
  Article get(1: ArticleId id) throws (1: NotFound missing),
  list<Article> find(
    1: string text,
    2: i32 limit = MAX_RESULTS
  ) throws (1: shared.Refused refused);
  oneway void touch(1: ArticleId id)
  TagsByGroup tags(1: ArticleId id, 2: bool all)
  map<i32, Article> several(1: list<ArticleId> ids)
  // Article hidden(1: i32 never)
}

service Admin extends shared.Maintained { void stop(1: i32 seconds), bool is_stopped() }
