vim9script
# Of the newer dialect.

import autoload 'tides.vim'
import './helper.vim' as helper

const LIMIT = 10
final names = ['a', 'b']
var count: number = 0
var table: dict<string> = {function: 'x', def: 'y'}
export var shared = 1
export const VERSION = '1.0'

def Local(a: string, b = 10, ...rest: list<any>): bool
  var inner = 1
  def Nested(): void
  enddef
  return true
enddef

export def Exported(
    first: number,
    second: number
): string
  return 'def Fake()'
enddef
def g:GlobalDef()
enddef
def! s:ScriptDef()
enddef

class Gauge
  var level: number
  public var name: string = 'x'
  static var total = 0
  const kind = 'pipe'
  def new(this.level, this.name = v:none)
  enddef
  def Read(): number
    return this.level
  enddef
  static def Count(): number
    return total
  enddef
endclass
export abstract class Sensor extends Gauge implements Readable
  abstract def Show(): void
endclass
interface Readable
  def Read(): number
endinterface
enum Side
  Left,
  Right
endenum
type Levels = list<number>
command! NineOpen Local('x')
augroup nine
  au!
augroup END
defcompile
