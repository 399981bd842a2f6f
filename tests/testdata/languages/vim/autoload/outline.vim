" Shows the headings of a buffer in a window beside it.

if exists('g:loaded_outline')
  finish
endif
let g:loaded_outline = 1
let s:width = 30
const s:name = '[outline]'
let g:outline_marks = {'open': '-', 'closed': '+'}

source <sfile>:h/outline/colours.vim
runtime autoload/outline/keys.vim

" Opens the window, or closes it.
function! outline#toggle(...) abort
  let l:number = bufwinnr(s:name)
  if l:number > 0
    execute l:number . 'wincmd c'
  else
    call s:open(a:0 ? a:1 : s:width)
  endif
endfunction

function! s:open(width) abort
  let headings = outline#headings(bufnr('%'))
  execute 'vertical topleft' a:width . 'new' s:name
  setlocal buftype=nofile nobuflisted
  call setline(1, map(copy(headings), 's:line(v:val)'))
endfunction

function! outline#headings(buffer)
  let found = []
  for [number, text] in items(getbufline(a:buffer, 1, '$'))
    if text =~# '^#\+ '
      call add(found, {'line': number, 'text': text})
    endif
  endfor
  return found
endfunction

function s:line(heading)
  return g:outline_marks.open . ' ' . a:heading.text
endfunction

fu! outline#jump() range
  let heading = s:current[line('.')]
  execute heading.line
endfu

let s:current = {}
function s:current.clear() dict
  call filter(self, 0)
endfunction

command! -nargs=? -bar Outline call outline#toggle(<f-args>)
command OutlineJump call outline#jump()

augroup outline
  autocmd!
  autocmd BufWritePost *.md call outline#headings(bufnr('%'))
augroup END

nnoremap <silent> <leader>o :Outline<CR>
xnoremap <silent> <leader>j :call outline#jump()<CR>

if has('nvim')
  function! outline#float()
    return 'call s:open(1) is only text'
  endfunction
endif
