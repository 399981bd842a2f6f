" Highlights tables of the tide.
" function! Commented()
" endfunction

if exists('b:did_ftplugin') | finish | endif
let b:did_ftplugin = 1
let s:save_cpo = &cpo
set cpo&vim
scriptencoding utf-8

let g:tides_width = get(g:, 'tides_width', 40)
let g:tides#columns = ['time', 'height']
let g:tides = {'name': 'function! Fake()', 'open': v:true}
let s:count = 0 | let s:other = 1
let [s:first, s:second; s:rest] = [1, 2, 3]
let $TIDES_HOME = expand('~/tides')
let @a = 'register'
let &l:textwidth = 80
let s:dict.key = 1
let g:tides.sub.key = 'x'
let b:tides_buffer = 1
let w:tides_window = 1
let t:tides_tab = 1
let s:text =<< trim END
  function! InHereDocument()
  endfunction
  let g:hidden = 1
END
const s:LIMIT = 10
unlet! s:other
lockvar s:LIMIT
if !exists('g:tides_color')
  let g:tides_color = 'blue'
endif
let long = {
      \ 'first': 1,
      \ 'function': 2,
      \ }

function tides#simple()
endfunction
function! tides#table#row(time, height, ...) abort range
  let l:name = a:time
  let inner = 1
  let g:tides_last = a:height
  if a:0 > 0
    return a:1
  endif
  return printf('%s function! NotThis()', l:name)
endfunction

function! s:private() dict closure
  return self.x
endfunction
function <SID>Sid() abort
endfunction
func! g:Global(a, b = 10, ...)
endfunc
fu s:short()
endf
function! Tides_Old(x) | return a:x | endfunction
function! s:dict.method() dict
  function! s:nested()
  endfunction
endfunction
function! tides.sub.other()
endfunction
function! s:multi(
      \ first,
      \ second)
      \ abort
endfunction
function! {s:dynamic}()
endfunction
silent function! s:silent()
endfunction
  function! s:indented()
  endfunction
delfunction! s:old

command! TidesOpen call tides#simple()
command! -nargs=* -complete=customlist,tides#complete TidesShow call tides#table#row(<f-args>)
command! -bang -bar -range=% -count=5 -register TidesAll call s:private()
com! -buffer TidesBuffer echo 'command! Fake'
command -nargs=1
      \ -complete=file
      \ TidesMulti call s:short()
delcommand TidesOld

augroup tides
  autocmd!
  autocmd BufRead,BufNewFile *.tide set filetype=tides
  au FileType tides call s:private() | echo 'augroup fake'
augroup END
augroup tides_more | au! | augroup END
aug third
aug END
autocmd tides BufWritePost *.tide call tides#simple()

nnoremap <silent> <Plug>(tides-next) :<C-u>call tides#simple()<CR>
nmap <buffer> ]t <Plug>(tides-next)
map! <expr> <F2> s:private()
inoremap <buffer><expr> jj pumvisible() ? "\<C-n>" : 'function! x()'
xnoremap <leader>t :TidesShow<CR>
let maplocalleader = ','
iabbrev <buffer> tw tide water

syntax keyword tidesHigh high HIGH
syntax match tidesNumber /\<\d\+\>/ contained
syn region tidesBlock start=/{/ end=/}/ contains=tidesNumber
syntax cluster tidesAll contains=tidesHigh,tidesNumber
highlight default link tidesHigh Keyword
hi! tidesNumber ctermfg=blue guifg=#0000ff
sign define tidesMark text=>> texthl=Search
menu Tides.Open :TidesOpen<CR>

source ~/.vim/tides.vim
source <sfile>:h/helper.vim
runtime! plugin/tides/*.vim
runtime macros/matchit.vim
packadd tides-extra
execute 'source' fnameescape(s:path)
import './utils.vim' as utils

python3 << EOP
def python_function():
    pass
EOP
lua << EOL
function lua_function() end
EOL
lua require('tides').setup{}

try
  function! s:in_try()
  endfunction
  let g:tides_try = 1
catch /E117/
  let g:tides_caught = 1
finally
endtry
for s:each in [1, 2]
  let g:tides_loop = s:each
endfor
while 0
  let g:tides_while = 0
endwhile
let F = {x -> x + 1}
let g:Func = function('tides#simple')
let s:obj = {}
function s:obj.init() abort
endfunction
call tides#simple() " function! trailing()
let &cpo = s:save_cpo
unlet s:save_cpo
" vim: set sw=2:
