#!/usr/bin/env guile
-e main
!#
;;; Dyes: recipes, baths and what comes out of them.

(define-module (loom dyes)
  #:use-module (srfi srfi-1)
  #:use-module ((srfi srfi-9) #:select (define-record-type))
  #:use-module (ice-9 match)
  #:export (make-bath
            dye!
            <recipe>))

(use-modules (srfi srfi-64)
             ((ice-9 format) #:prefix fmt:))

(define-record-type <recipe>
  (make-recipe name parts)
  recipe?
  (name recipe-name)
  (parts recipe-parts set-recipe-parts!))

(define-record-type bath #t bath? temperature)

(define-immutable-record-type <vat>
  (make-vat size) vat?
  (size vat-size))

(define-public boiling 100)
(define-public (celsius->fahrenheit c)
  (+ 32 (* c 9/5)))

(define pi/2 1.5707)
(define colours #(red green blue))
(define-constant MORDANT 'alum)
(define recipe-table (make-hash-table))
(define current-bath (make-parameter #f))
(define greeting "welcome; (define (not-code) 1)")
(define open-paren #\()
(define semicolon #\;)

#;(define (disabled) 1)
#; (define also-disabled 2)

;; Dyes the yarn
;; in a bath.
(define* (dye! yarn #:key (minutes 30) (bath (current-bath)))
  "Dye YARN for MINUTES in BATH."
  (define (step n)
    (define inner (* n 2))
    (if (> n minutes) yarn (step (+ n 1))))
  (step 0))

(define-inlined (soak x) x)
(define-method (mix (a <recipe>) (b <recipe>))
  (append (recipe-parts a) (recipe-parts b)))
(define-generic shade)
(define-class <pot> (<object>)
  (size #:init-keyword #:size #:getter pot-size)
  (lid #:init-value #f))

(define lighter
  (case-lambda
    ((c) (lighter c 1))
    ((c n) (+ c n))))

(define darker (lambda (c . n) (- c 1)))

(define stir
  (let ((times 0))
    (lambda ()
      (set! times (+ times 1))
      times)))

(define (compose . fs)
  (cond ((null? fs) (lambda (x) x))
        (else (lambda (x) ((car fs) ((apply compose (cdr fs)) x))))))

(define (rinse yarn)
  (let-values (((clean dirty) (partition wet? yarn)))
    (define result (append clean dirty))
    result))

(define-syntax unless-dry
  (lambda (stx)
    (syntax-case stx ()
      ((_ y body ...)
       #'(if (dry? y) #f (begin body ...))))))

(define-syntax-rule (with-bath b body ...)
  (parameterize ((current-bath b)) body ...))

(define-syntax my-or (syntax-rules ()
  ((_) #f)
  ((_ e) e)
  ((_ e r ...) (let ((t e)) (if t t (my-or r ...))))))

(define-macro (repeat n . body)
  `(let loop ((i 0)) (when (< i ,n) ,@body (loop (+ i 1)))))

(defmacro old-style (x) `(list ,x))

(define-values (warm cold . rest) (values 1 2 3))

(begin
  (define in-begin 1)
  (define (fn-in-begin) in-begin))

(cond-expand
  (guile
   (define (platform) 'guile))
  (chicken
   (import (chicken base))
   (define (platform) 'chicken))
  (else (define (platform) 'other)))

(if (defined? 'old-guile)
    (define (compat x) x)
    (define (compat x) (list x)))

(define quoted
  '(define (in-a-quote) 1))
(define template
  `((define ,(car '(a)) 1)))

(let loop ((n 3))
  (define local 1)
  (if (> n 0) (loop (- n local))))

#|
(define (commented)
  #| nested |#
  1)
|#

(define    (spaced   a
                     b)   ; a comment (define (in-comment) 1)
  (+ a b))
(define (one) 1) (define (two) 2)
(define
  (split-head x)
  x)
(define |odd name| 1)
(define (set-lid! pot lid) (slot-set! pot 'lid lid))
(define string->colour string->symbol)

(test-begin "dyes")
(test-assert "soaks" (soak #t))
(test-group "mixing"
  (test-equal "two" 2 (two))
  (test-eqv "one" 1 (one)))
(test-end "dyes")

(define (main args)
  (match args
    ((_ name) (format #t "~a\n" name))
    (_ (display greeting))))
