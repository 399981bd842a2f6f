@import Foundation;
#import <UIKit/UIKit.h>
@class Foo, Bar;
NS_ASSUME_NONNULL_BEGIN
typedef NS_ENUM(NSInteger, Kind) { KindOne, KindTwo = 4 };
typedef NS_OPTIONS(NSUInteger, Flags) {
  FlagsNone = 0,
};
typedef void (^Completion)(NSError * _Nullable error);
extern NSString *const MyName;
/// A delegate.
@protocol ViewDelegate <NSObject, Other>
@required
- (void)viewDidTap:(id)sender;
@optional
@property (nonatomic, readonly) BOOL ready;
@end
@interface MyView : UIView <ViewDelegate> {
  int _count;
  NSString *_name;
}
@property (nonatomic, copy, nullable) NSString *title;
@property (nonatomic, weak) id<ViewDelegate> delegate;
@property (nonatomic, copy) void (^handler)(int x);
- (instancetype)initWithTitle:(NSString *)title count:(NSInteger)n NS_DESIGNATED_INITIALIZER;
- (nullable NSArray<NSString *> *)items;
+ (void)registerAll __attribute__((deprecated));
@end
@interface MyView (Extras)
- (void)extra;
@end
@interface MyView ()
@property int hidden;
@end
@interface Stack<ObjectType> : NSObject
- (void)push:(ObjectType)x;
@end
NS_ASSUME_NONNULL_END
@implementation MyView {
  int _z;
}
@synthesize title = _title;
@dynamic ready;
- (instancetype)initWithTitle:(NSString *)title count:(NSInteger)n {
    self = [super init];
    [self.delegate viewDidTap:self];
    dispatch_async(q, ^{ [self extra]; });
    return self;
}
#pragma mark - Hi
+ (void)registerAll { Foo *f = [[Foo alloc] init]; [f go]; }
static void helperC(int x) { }
@end
@implementation MyView (Extras)
- (void)extra { }
@end
int main(int argc, char **argv) { @autoreleasepool { return NSApplicationMain(argc, argv); } }
