//  Store.swift

import Foundation
@testable import Model
import struct Model.Item
import Model.Prices
@_exported import Kit

/// Where things are kept.
///
/// Thread safe.
@available(iOS 13, *)
@MainActor
public final class Store<Element: Hashable>: Base, Keeper where Element: Codable {
    public static let shared = Store()
    static var count = 0
    public private(set) var size: Int = 3
    let first = 1, second = 2
    let (width, height) = (1, 2)
    /// The items, sorted.
    var sorted: [Element] { items.sorted() }
    var title: String {
        get { label }
        set { label = newValue }
    }
    lazy var cache: [String: Element] = {
        var made = [String: Element]()
        for item in items { made[item.name] = item; made[item.name.lowercased()] = item }
        return made
    }()
    @Published var label: String = "" {
        didSet { print(label) }
    }
    private weak var owner: Owner?
    private nonisolated(unsafe) var raw: Int

    public init(size: Int) { self.size = size }
    public convenience required init?<S>(_ source: S) where S: Sequence { return nil }
    deinit { print("gone") }

    @discardableResult
    open func add(_ item: Element, at index: Int = 0) async throws -> Bool {
        func room() -> Int { size }
        struct Receipt { var item: Element }
        enum Step { case begin, end }
        let handler = { (n: Int) in n + 1 }
        try await run { response in
            struct Reply: Decodable { var code: Int }
            if let reply = try? await response.decode(Reply.self) { print(reply) }
        }
        return room() > handler(0)
    }

    class func make() -> Store { Store(size: 1) }
    static func == (left: Store, right: Store) -> Bool { true }
    fileprivate func reset() {}
    private func `repeat`() {}
    func send(_ item: sending Element) {}

    subscript(index: Int) -> Element {
        get { items[index] }
        set { items[index] = newValue }
    }

    typealias Index = Int

    #if canImport(Security)
    func secure() {}
    #else
    func insecure() {}
    #endif

    #if os(macOS)
    public enum Failure: Error, CaseIterable {
        case full, empty
        case broken(code: Int, String)
        indirect case nested(Failure)
        @available(*, deprecated)
        case old

        var isFatal: Bool { false }
    }
    #endif

    struct Options: OptionSet { var rawValue: Int }
}

public protocol Keeper: AnyObject, Sendable {
    associatedtype Item: Equatable = Int
    var capacity: Int { get set }
    static var name: String { get }
    init(capacity: Int)
    func keep(_ item: Item) throws
    subscript(index: Int) -> Item { get }
}

public extension Keeper where Item == Int {
    func keepAll() {}
    private var hidden: Int { 1 }
}

extension Store.Options: Codable {
    static let all: Store.Options = []
}

extension Array where Element == Int {
    func total() -> Int { reduce(0, +) }
}

public actor Counter {
    private var value = 0
    func next() async -> Int { value += 1; return value }
}

// Adds two.
func add<T>(_ left: T, _ right: T) -> T where T: Numeric { left + right }
let limit = 10
private let prefix = "store", suffix = "!"
var current: Store<Int>?

infix operator +++: AdditionPrecedence
precedencegroup Loud { higherThan: AdditionPrecedence }
func +++ (left: Int, right: Int) -> Int { left }
prefix func - (store: Store<Int>) -> Int { 0 }

@freestanding(expression)
public macro stringify(_ value: Int) -> String = #externalMacro(module: "Macros", type: "Stringify")

@main struct App {
    static func main() {}
}

class Broken {
    func before() {}
    func oops( { let x = }
    func after() {}
}
