#lang racket

;;; Yards: where wagons wait, and how trains are made of them.

(require (for-syntax racket/base
                     syntax/parse)
         (prefix-in list: racket/list)
         (rename-in racket/set [set-add add])
         racket/class racket/match
         (except-in "signals.rkt" route)
         (submod "signals.rkt" helpers)
         (file "/opt/yard/tables.rkt")
         rackunit)

(provide (struct-out wagon)
         (all-defined-out)
         (rename-out [couple join-wagons]))

#;(define (disabled x) (* x 2))

(define-values (short-track long-track) (values 12 40))
(define YARD-NAME "East; (define (not-code) 1)")
(define current-yard (make-parameter #f))
(define-logger yard)

(struct wagon (number [load #:mutable #:auto] kind)
  #:auto-value 0
  #:property prop:custom-write
  (lambda (w port mode) (fprintf port "<~a>" (wagon-number w)))
  #:guard (lambda (number kind name) (values number kind)))
(struct tank wagon (volume) #:prefab)
(struct exn:fail:yard exn:fail (track))
(struct empty-yard ())

(define/match (describe w)
  [((? tank?)) "a tank"]
  [((wagon number _ _)) (format "wagon ~a" number)])

(define-match-expander numbered
  (lambda (stx)
    (syntax-case stx () [(_ n) #'(wagon n _ _)])))

;; Couples wagons.
;; They must be in order.
(define (couple first-wagon
                #:brakes? [brakes? #t]
                . others)
  (define all (cons first-wagon others))
  (define (braked w) (if brakes? w #f))
  (let loop ([rest all])
    (define next (cdr rest))
    (cond
      [(null? next) all]
      [else (loop next)])))

(define ((heavier-than limit) w)
  (> (wagon-load w) limit))

(define (((curried a) b) c) (+ a b c))

(define count-wagons
  (case-lambda
    [() 0]
    [(w) 1]
    [(w . more) (add1 (length more))]))

(define weigh (compose1 round wagon-load))

(define shunt!
  (let ([moves 0])
    (lambda (w track)
      (set! moves (add1 moves))
      moves)))

(define-syntax (define-track stx)
  (syntax-parse stx
    [(_ name:id length:expr)
     #'(define name (track 'name length))]))

(define-syntax-rule (on-track t body ...) (parameterize ([current-yard t]) body ...))
(define-syntaxes (up down) (values (lambda (s) s) (lambda (s) s)))

(define-for-syntax (track-id stx) (datum->syntax stx 'track))
(begin-for-syntax
  (define (helper stx) stx)
  (define-syntax-class wagon-expr
    (pattern n:number)))

(define-syntax-parser ring
  [(_ n:expr) #'(list n)])

(define yard<%>
  (interface ()
    arrive
    depart))

(define base-yard%
  (class* object% (yard<%>)
    (init name [capacity 10])
    (init-field [tracks '()])
    (field [wagons '()] [closed? #f])
    (inherit-field parent)
    (super-new)

    ;; A wagon arrives.
    (define/public (arrive w)
      (set! wagons (cons w wagons)))

    (define/public-final (depart)
      (set! wagons '()))

    (define/private (check)
      (unless closed? (error 'check "closed")))

    (define/pubment (audit) (inner (void) audit))
    (abstract inspect)
    (define (private-by-default x) x)))

(define big-yard%
  (class base-yard%
    (super-new)
    (define/override (arrive w)
      (super arrive w))
    (define/augment (audit) 'done)
    (define/overment (other) 1)))

(define-generics movable
  (move movable distance)
  (stop movable))

(define-signature yard^ (open close))
(define-unit yard@
  (import)
  (export yard^)
  (define (open) 1)
  (define (close) 2))

(define/contract (track-of w)
  (-> wagon? symbol?)
  'east)

(define-custom-hash-type wagon-hash #:key? wagon?)
(define-runtime-path tables "tables")
(define-type Distance Real)
(: speed (-> Real Real))
(define (speed d) (/ d 2))

#|
(define (commented x)
  #| (define nested 1) |#
  x)
|#

(define quoted-code
  '((define (in-a-quote x) x)
    (struct quoted (a b))))
(define here-text #<<END
(define (in-a-here-string) 1)
END
  )

(let ()
  (define local-value 1)
  (define (local-function) local-value)
  (local-function))

(cond [(current-yard)
       (define (in-cond) 1)
       (in-cond)])

(module config racket/base
  (provide limit)
  (define limit 30)
  (define (limit-of y) limit))

(module* main #f
  (define args (current-command-line-arguments))
  (displayln args))

(module+ test
  (define-simple-check (check-wagon w) (wagon? w))
  (define w (wagon 1 'box))
  (test-case
   "wagons have numbers"
   (check-equal? (wagon-number w) 1))
  (test-suite "yard"
    (test-equal? "empty" (count-wagons) 0)
    (test-case "one" (check-equal? (count-wagons w) 1))))
