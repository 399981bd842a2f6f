;;; Weaving drafts: threads, treadles and the cloth that they give.

(define-library (loom drafts)
  (export make-draft weave)
  (import (scheme base)
          (only (srfi 1) fold filter)
          (loom colours))
  (begin
    (define default-width 40)

    (define (make-draft threading treadling)
      (list threading treadling))))

(import (scheme write) (prefix (loom drafts) draft:))
(load "patterns.scm")

;; Threads of one colour.
(define-record-type thread
  (make-thread colour count)
  thread?
  (colour thread-colour)
  (count thread-count set-thread-count!))

(define shafts 4)
(define empty-cloth '())

(define twill
  (lambda (offset)
    (map (lambda (n) (modulo (+ n offset) shafts)) '(0 1 2 3))))

; Raises the shafts of a treadle.
(define (lift treadle draft)
  (define (tied? shaft)
    (memv shaft (cadr (assv treadle draft))))
  (define result '())
  (let loop ((n 0))
    (if (< n shafts)
        (begin
          (if (tied? n) (set! result (cons n result)))
          (loop (+ n 1)))
        result)))

(define (weave draft . picks)
  (let* ((rows (map (lambda (pick) (lift pick draft)) picks))
         (width (length (car rows))))
    (display "woven; (not-code)")
    (fold cons empty-cloth rows)))

(define ((scaled factor) thread)
  (make-thread (thread-colour thread) (* factor (thread-count thread))))

(define-syntax while
  (syntax-rules ()
    ((_ condition body ...)
     (let loop ()
       (when condition body ... (loop))))))

(define-syntax-rule (swap! a b)
  (let ((saved a)) (set! a b) (set! b saved)))

#|
(define (commented-out) (weave 1))
|#

(define (colours-of cloth)
  (let ((seen '()))
    (for-each
     (lambda (thread)
       (if (not (memq (thread-colour thread) seen))
           (set! seen (cons (thread-colour thread) seen))))
     cloth)
    (reverse seen)))

(define* (warp length #:optional (epi 12))
  (* length epi))

(define-values (left right) (values 1 2))

(define (main args)
  (let ((draft (make-draft (twill 0) (twill 1))))
    (write (weave draft 1 2 3))
    (newline)))
