"""Words that programs are made of, for trees generated from a seed. None is a keyword of the languages there."""

from typing import Final

_NOUNS = """
account address agent alert amount archive asset attempt audit balance basket batch binding block branch bucket budget
buffer cache calendar carrier catalog category certificate channel charge checkpoint claim client cluster column commit
condition connection consumer contract counter country coupon credential currency cursor customer deadline delivery
deployment device digest discount document domain endpoint entry envelope event exchange feature field filter folder
forecast fragment gateway grant group handler header histogram holder identity image index inventory invoice item job
journal key label layer leader ledger license limit link listener location lock mailbox manifest member merchant message
meter metric migration mirror model namespace node notification offer order outlet owner page partition password patch
payload payment peer permit pipeline planner player policy pool portal position price printer priority process product
profile project promise proposal provider quantity query queue quota ranking rate receipt record refund region registry
release replica report request reservation resource response retry role route rule sample schedule schema scope segment
sensor session setting shard shipment signal snapshot socket source stage statement station stock storage stream subject
subscription summary supplier symbol table target task tax template tenant ticket timer token topic trace transfer tree
trigger tunnel unit user vendor version vote voucher wallet warehouse watcher window worker workflow zone
"""

_VERBS = """
accept allocate apply archive assign attach authorize balance bind build cancel capture charge check claim close collect
compare compile compress compute confirm connect convert copy create decode decrypt deliver detach discover dispatch
drain drop encode encrypt enqueue estimate evict expand expire extract fetch filter find flush format forward grant
group index inspect issue join label list load lock mark match measure merge migrate monitor move normalize notify open
order pack parse patch pause plan poll prepare print probe process promote prune publish purge query rank read rebuild
receive reconcile record refresh refund register release remove rename render renew repair replace replay reserve reset
resolve restore resume retry revoke rotate route sample save scan schedule seal search send settle ship sign skip sort
split start stop store submit subscribe sum suspend swap sync tag throttle trace track transfer translate trim unlock
unpack update upgrade validate verify watch write
"""

_ADJECTIVES = """
active atomic batched cached cold daily deferred direct empty expired external fast first hidden idle indirect initial
inner internal last late lazy local locked manual merged minor nested open outer partial pending primary quiet random
raw remote safe sealed secondary shared signed simple sorted stale strict temporary total trusted unique unused valid
virtual weak weekly
"""

NOUNS: Final = tuple(_NOUNS.split())
VERBS: Final = tuple(_VERBS.split())
ADJECTIVES: Final = tuple(_ADJECTIVES.split())
