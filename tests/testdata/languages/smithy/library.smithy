$version: "2.0"

metadata suppressions = [
    {id: "UnreferencedShape", namespace: "example.library", reason: "structure Fake { a: String }"}
]
metadata "quoted" = "structure Fake {}"

namespace example.library

use aws.api#service
use smithy.api#documentation
use smithy.framework#ValidationException

/// Lends books.
///
/// ```
/// structure NotHere {}
/// ```
@service(sdkId: "Library")
@title("Library")
@paginated(
    inputToken: "nextToken"
    outputToken: "nextToken"
)
service Library {
    version: "2026-01-12"
    rename: { "example.other#Book": "OtherBook" }
    resources: [
        Book
        Branch, Reader
    ]
    operations: [Search, Ping]
    errors: [ValidationException]
}

apply Library @documentation("resource Hidden {}")
apply Book$title @length(min: 1)
apply Branch { @internal @deprecated }

resource Book {
    identifiers: { isbn: Isbn }
    properties: { title: String, year: Year }
    create: CreateBook
    read: GetBook
    update: UpdateBook
    delete: DeleteBook
    list: ListBooks
    operations: [LendBook]
    collectionOperations: [ImportBooks]
    resources: [Copy]
}

resource Branch { identifiers: { branchId: String } }
resource Copy {
    identifiers: {
        isbn: Isbn
        copyId: String
    }
}
@references([{resource: Book}])
resource Reader {}

@readonly
@http(method: "GET", uri: "/books/{isbn}", code: 200)
operation GetBook {
    input := @references([{resource: Book}]) {
        @required
        @httpLabel
        isbn: Isbn
    }
    output := for Book with [Dated] {
        $isbn
        @required
        $title
        year: Year
        authors: AuthorList
    }
    errors: [NotFound, Throttled]
}

operation CreateBook {
    input: CreateBookInput
    output: CreateBookOutput
    errors: [
        Conflict
        ValidationException
    ]
}
@idempotent operation DeleteBook { input: DeleteBookInput }
operation UpdateBook with [CommonErrors] {
    input := {}
}
operation ListBooks { input: ListBooksInput, output: ListBooksOutput }
operation Ping {}
@mixin operation CommonErrors { errors: [Throttled] }

@input structure CreateBookInput for Book {
    $title
    @default(2000)
    year: Year = 2000
    note: String = "union Hidden { a: String }"
    labels: LabelMap = {}
    flags: FlagList = []
    enabled: Boolean = true, other: smithy.api#Integer
}
@output
structure CreateBookOutput {}
structure DeleteBookInput { @required isbn: Isbn }
structure ListBooksInput with [Paged, Dated] {
    filter: Filter,
    maxResults: PageSize
}
structure ListBooksOutput
    with [Paged] {
    books: BookList
    // hidden: String
    "quoted": String
}
structure Empty {
}

@mixin
structure Paged {
    nextToken: String
}
@mixin(localTraits: [documentation])
structure Dated { createdAt: Timestamp }

@sensitive
structure
Spread
{
    first
        : String
}

list BookList {
    member: BookSummary
}
@uniqueItems list AuthorList { member: Author }
@length(max: 10)
list FlagList { @pattern("^[a-z]+$") member: String }
map LabelMap {
    @length(max: 20)
    key: String
    value: LabelValue
}
set OldSet { member: String }
structure Author { name: String, born: Year }
structure BookSummary { isbn: Isbn }

union Filter {
    /// By title.
    title: String
    author: Author,
    year: Year
    all: Unit
}

enum Genre {
    NOVEL
    @enumValue("poem")
    POEM
    CRIME = "crime"
    HISTORY = "history"
    /// For children.
    CHILDREN = "children" // with pictures
    lower_case
}
enum Small { ONE, TWO }
intEnum Rating {
    BAD = 1
    GOOD = 2
}

@pattern("^[0-9]{13}$")
string Isbn
string LabelValue
@range(min: 1400) integer Year
@default(10)
integer PageSize
boolean Flag
blob Cover
@streaming blob Stream
byte Tiny
long Count
float Ratio
double Precise
bigInteger Huge
bigDecimal Exact
timestamp Moment
document Anything

@trait(selector: "structure", conflicts: [other])
structure shelf {
    @required
    name: String
}
@trait string colour
@shelf(name: "A1")
@colour("red")
structure Shelf { books: BookList }

@error("client")
@httpError(404)
structure NotFound {
    message: String
}
@error("server") structure Throttled { retryAfter: Integer }
@error("client") structure Conflict {}
