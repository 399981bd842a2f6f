// swift-tools-version:5.9
// Beds of a garden: struct NotHere {}
@_exported import Foundation
import struct Shop.Price
#if canImport(UIKit)
@preconcurrency import UIKit
#elseif os(macOS)
import AppKit
#endif
@testable import Garden

/* func commented() {}
   /* nested class Commented {} */ */

infix operator <~>: AdditionPrecedence
prefix operator √
precedencegroup Watering {
    higherThan: AdditionPrecedence
    associativity: left
}

public typealias Completion<T> = (Result<T, any Error>) -> Void
let version = "func notCode() {}", build = 7
private(set) var counter: Int = 0 { didSet { print(oldValue) } }
let (north, south) = (1, 2)
let text = """
    class InText {}
    \(version) func inText() {}
    """
let raw = #"enum Raw { case \(x) }"#
@MainActor var shared: Bed?
lazy var late = { 1 }()

@objc public protocol Watered: AnyObject, Sendable where Self: Bed {
    associatedtype Plant: Equatable = String
    static var limit: Int { get }
    var level: Double { get set }
    init(level: Double)
    func water(_ litres: Double, at time: Date) async throws -> Bool
    mutating func dry()
    subscript(index: Int) -> Plant { get }
    static func == (left: Self, right: Self) -> Bool
}

public protocol Named<Name> { associatedtype Name; var name: Name { get } }

@frozen public indirect enum Soil: String, CaseIterable {
    case clay, sand = "sandy"
    case mixed(Soil, of: Soil)
    @available(iOS 15, *) case peat
    static let best = Soil.clay
    var isWet: Bool { self == .clay }
    enum Depth: Int { case shallow = 1, deep }
    func with(_ other: Soil) -> Soil { .mixed(self, of: other) }
}

open class Bed: NSObject, Watered {
    public static let limit = 10
    class var kind: String { "bed" }
    weak var gardener: Gardener?
    unowned(unsafe) let owner: AnyObject
    @Published var level: Double = 0
    @State private var isOpen = false, isShaded = true
    private lazy var plants: [String] = {
        let local = [String]()
        return local
    }()
    let onWater: (@Sendable (Double) async -> Void)?
    var area: Double {
        get { width * height }
        @inlinable set(value) { width = value / height }
    }
    var width, height: Double
    final override var description: String { "Bed" }

    public required init(level: Double) { self.level = level }
    convenience init?(named name: String) throws {
        guard !name.isEmpty else { return nil }
        self.init(level: 0)
    }
    deinit { counter -= 1 }

    @discardableResult
    @objc(waterWithLitres:at:)
    open func water(
        _ litres: Double = 1.0,
        at time: Date
    ) async throws -> Bool {
        func pour(_ n: Int) -> Int { n + 1 }
        let step = { (x: Int) -> Int in x * 2 }
        struct Local { var x = 1 }
        #if DEBUG
        func debugOnly() {}
        #endif
        defer { level += litres }
        return pour(step(1)) > Local().x
    }

    subscript(index: Int) -> String {
        get { plants[index] }
        set { plants[index] = newValue }
    }
    static subscript<T>(_ key: KeyPath<Bed, T>) -> T? { nil }

    static func <~> (left: Bed, right: Bed) -> Bool { left.level == right.level }
    class func make() -> Self { fatalError() }
    func one() {} ; func two() {}
    func `repeat`(while condition: @autoclosure () -> Bool) rethrows {}

    private struct Row { var length: Int; let plants: [String] }
    class Nested: Bed {
        enum Kind { case a, b }
    }
}

prefix func √ (bed: Bed) -> Double { bed.area.squareRoot() }
func == (left: Bed, right: Bed) -> Bool { true }

extension Bed: Named {
    public var name: String { "bed" }
    convenience init(copy bed: Bed) { self.init(level: bed.level) }
}

extension Array where Element == Bed {
    func total<T: Numeric>(_ key: (Bed) -> T) -> T where T: Comparable { map(key).reduce(0, +) }
}

extension Bed.Nested { static let depth = 3 }

public actor Gardener {
    nonisolated let id = UUID()
    private var beds: [Bed] = []
    func tend(_ bed: isolated Bed) async { beds.append(bed) }
    nonisolated func hello() -> String { "class Hidden {}" }
}

@resultBuilder
enum GardenBuilder {
    static func buildBlock(_ beds: Bed...) -> [Bed] { beds }
}

@propertyWrapper struct Clamped<Value: Comparable> {
    private var value: Value
    let range: ClosedRange<Value>
    var wrappedValue: Value {
        get { value }
        set { value = min(max(newValue, range.lowerBound), range.upperBound) }
    }
    init(wrappedValue: Value, _ range: ClosedRange<Value>) {
        self.value = wrappedValue
        self.range = range
    }
}

@attached(member) public macro AddName(_ name: String) = #externalMacro(module: "Macros", type: "AddName")

struct Point<let n: Int>: ~Copyable { var x, y: Int }

func generic<each T>(_ values: repeat each T) -> (repeat each T) { (repeat each values) }

struct BedView: View {
    @Environment(\.colorScheme) var scheme
    var body: some View {
        VStack { Text("var notVar = 1") }
    }
}

#Preview { BedView() }

@main
struct App {
    static func main() async {}
}
