//
//  Kiln.m
//  Pottery
//

#import "Kiln.h"
#import "Kiln+Private.h"
#include <math.h>
@import CoreBluetooth.CBPeripheral;

#if TARGET_OS_IPHONE
#import <UIKit/UIKit.h>
#else
#import <AppKit/AppKit.h>
#endif

@class Cone, GlazeRecipe;
@protocol KilnObserver;

#define KILN_MAX_DEGREES 1300
#define KILN_LOG(format, ...) NSLog((@"kiln %s " format), __func__, ##__VA_ARGS__)
#define WEAKEN(name) \
    __weak typeof(name) weak_##name = name

NSString *const KilnDidCoolNotification = @"@interface Fake : NSObject @end";
NSErrorDomain const KilnErrorDomain = @"kiln";
static const NSTimeInterval kPollInterval = 2.5;
static NSMutableDictionary<NSString *, Cone *> *sCones;
FOUNDATION_EXPORT double KilnVersionNumber;

typedef NS_ENUM(NSInteger, KilnPhase) {
    /// Nothing burns.
    KilnPhaseIdle NS_SWIFT_NAME(idle) = 0,
    KilnPhaseHeating,
    KilnPhaseSoaking API_AVAILABLE(ios(15.0)),
    KilnPhaseCooling,
};

typedef NS_ERROR_ENUM(KilnErrorDomain, KilnError) {
    KilnErrorDoorOpen = 1,
    KilnErrorOverheated,
};

typedef NS_OPTIONS(NSUInteger, KilnVents) {
    KilnVentsNone   = 0,
    KilnVentsTop    = 1 << 0,
    KilnVentsBottom = 1 << 1,
};

typedef struct KilnReading {
    double degrees;
    NSTimeInterval at;
} KilnReading;

typedef NSString *KilnName NS_TYPED_EXTENSIBLE_ENUM;
typedef BOOL (^KilnPredicate)(KilnReading reading, NSError **error);
typedef void (*KilnCallback)(const KilnReading *, void *context);

/**
 * Somebody who wants to know how hot it is.
 */
@protocol KilnObserver <NSObject>

- (void)kiln:(Kiln *)kiln didRead:(KilnReading)reading;

@optional
- (BOOL)kilnShouldOpenDoor:(Kiln *)kiln;
@property (class, nonatomic, readonly) NSString *observerName;

@end

@interface Kiln () <CBPeripheralDelegate, NSCopying> {
@private
    dispatch_queue_t _queue;
    KilnReading _readings[16];
@public
    int openCount, closeCount;
}

@property (nonatomic, strong, nullable) CBPeripheral *peripheral;
@property (nonatomic, copy) BOOL (^predicate)(KilnReading, NSError **);
@property (atomic, assign, getter=isLocked) BOOL locked;
@property (nonatomic) IBOutlet UILabel *label, *subtitle;
@property (class, nonatomic, readonly) Kiln *sharedKiln;

@end

@interface Firing<__covariant Ware : id<NSCopying>> : NSObject <NSFastEnumeration>

@property (nonatomic, readonly, copy) NSArray<Ware> *wares;

- (instancetype)init NS_UNAVAILABLE;
+ (instancetype)new NS_UNAVAILABLE;
- (instancetype)initWithWares:(NSArray<Ware> *)wares
                      program:(NSDictionary<NSNumber *, NSNumber *> *)program
                        error:(NSError *_Nullable *_Nullable)error NS_DESIGNATED_INITIALIZER;

@end

static inline double KilnClamp(double degrees) {
    return fmax(0, fmin(degrees, KILN_MAX_DEGREES));
}

NS_INLINE BOOL KilnIsHot(KilnReading reading) {
    return reading.degrees > 60;
}

static void
KilnHandleSignal(int number, void (*next)(int))
{
    KILN_LOG(@"- (void)fakeMethod { %d", number);
    if (next) next(number);
}

@implementation Kiln

@synthesize predicate = _predicate;
@dynamic label;

+ (void)initialize
{
    if (self == [Kiln class]) {
        sCones = [NSMutableDictionary dictionary];
    }
}

+ (Kiln *)sharedKiln {
    static Kiln *shared;
    static dispatch_once_t once;
    dispatch_once(&once, ^{
        shared = [[self alloc] initWithName:@"shared" vents:KilnVentsTop | KilnVentsBottom];
    });
    return shared;
}

#pragma mark - Life

- (instancetype)initWithName:(KilnName)name vents:(KilnVents)vents
{
    if (!(self = [super init])) return nil;
    _queue = dispatch_queue_create("kiln", DISPATCH_QUEUE_SERIAL);
    WEAKEN(self);
    [NSTimer scheduledTimerWithTimeInterval:kPollInterval repeats:YES block:^(NSTimer *timer) {
        [weak_self poll:timer];
    }];
    return self;
}

- (void)dealloc {
    [[NSNotificationCenter defaultCenter] removeObserver:self];
}

/// Polls the sensor.
- (void)poll:(nullable NSTimer *)timer {
    @synchronized (self) {
        for (int i = 0; i < 16; i++) { _readings[i].degrees = KilnClamp(_readings[i].degrees); }
    }
    @try {
        [self.peripheral readRSSI];
    } @catch (NSException *exception) {
        KILN_LOG(@"failed: %@", exception);
    } @finally {
        self.locked = NO;
    }
}

- (void)setLocked:(BOOL)locked { _locked = locked; }
- (BOOL)isLocked { return _locked; }

- (id)copyWithZone:(NSZone *)zone { return self; }

- (void (^)(KilnReading))recorderFor:(NSString *)name, ... NS_REQUIRES_NIL_TERMINATION {
    return ^(KilnReading reading) { NSLog(@"%@ %f", name, reading.degrees); };
}

- (NSComparisonResult)compare:(Kiln *)other :(NSString *)key {
    return [[self valueForKey:key] compare:[other valueForKey:key]];
}

- (IBAction)openDoor:(id)sender {
    if (![self.observer respondsToSelector:@selector(kilnShouldOpenDoor:)]) return;
    NSDictionary *info = @{ @"phase": @(KilnPhaseIdle), @"wares": @[ @1, @"two" ] };
    [NSNotificationCenter.defaultCenter postNotificationName:KilnDidCoolNotification object:self userInfo:info];
}

@end

@implementation Firing {
    NSUInteger _mutations;
    __weak id<KilnObserver> _observer;
}

- (instancetype)initWithWares:(NSArray *)wares program:(NSDictionary *)program error:(NSError **)error {
    if (wares.count == 0 && error) {
        *error = [NSError errorWithDomain:KilnErrorDomain code:KilnErrorDoorOpen userInfo:nil];
    }
    self = [super init];
    return self;
}

- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id __unsafe_unretained [])buffer
                                    count:(NSUInteger)length {
    return [_wares countByEnumeratingWithState:state objects:buffer count:length];
}

@end

/* @implementation Commented
- (void)out { }
@end */

@interface KilnTests : XCTestCase
@end

@implementation KilnTests

- (void)testClampsToTheMaximum {
    XCTAssertEqual(KilnClamp(5000), KILN_MAX_DEGREES);
}

- (void)testReadsWithExpectation {
    XCTestExpectation *done = [self expectationWithDescription:@"read"];
    [self waitForExpectations:@[done] timeout:1];
}

@end
