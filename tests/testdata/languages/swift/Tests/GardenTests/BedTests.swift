import XCTest
import Testing
@testable import Garden

final class BedTests: XCTestCase {
    var bed: Bed!

    override func setUpWithError() throws { bed = Bed(level: 1) }

    func testLevel() async throws {
        XCTAssertEqual(bed.level, 1)
    }
}

@Suite("Soils") struct SoilTests {
    @Test("clay is wet", arguments: [Soil.clay])
    func clay(soil: Soil) { #expect(soil.isWet) }

    @Test func sand() {}
}
