#lang racket/base

;; Signals of a railway: aspects, and the rules between them.

(require racket/list
         racket/contract
         (only-in racket/string string-join)
         "tracks.rkt"
         "private/rules.rkt")

(provide signal-aspect
         (contract-out [next-aspect (-> symbol? symbol?)]))

;; An aspect is what a driver sees.
(define aspects '(red yellow green))

(struct signal (name [aspect #:mutable]) #:transparent)
(struct distant signal (distance))

(define-struct route (from to))

; The aspect before a signal that shows another.
(define (next-aspect aspect)
  (case aspect
    [(red) 'yellow]
    [else 'green]))

(define/contract (clear! s)
  (-> signal? void?)
  (set-signal-aspect! s 'green))

(define (protect route signals)
  (define (on-route? s)
    (member (signal-name s) (list (route-from route) (route-to route))))
  (define n-changed 0)
  (for ([s (in-list signals)]
        #:when (on-route? s))
    (set! n-changed (add1 n-changed))
    (set-signal-aspect! s 'red))
  n-changed)

(define show
  (lambda (s)
    (format "~a: ~a" (signal-name s) (signal-aspect s))))

(define show-all
  (λ (signals) (string-join (map show signals) "\n")))

(define-syntax-rule (with-red s body ...)
  (let ([before (signal-aspect s)])
    (set-signal-aspect! s 'red)
    body ...
    (set-signal-aspect! s before)))

(define-syntax (unless-red stx)
  (syntax-case stx ()
    [(_ s body) #'(unless (eq? (signal-aspect s) 'red) body)]))

(define box%
  (class object%
    (init-field signals)
    (define/public (count) (length signals))
    (super-new)))

#| (define (commented-out) (clear! 1)) |#

(module helpers racket/base
  (define (helper x) (* 2 x))
  (provide helper))

(module+ test
  (require rackunit)
  (define a (signal "A" 'green))
  (test-case "a route is red"
    (check-equal? (protect (route "A" "B") (list a)) 1)))

(module+ main
  (displayln (show-all (list (signal "A" 'red)))))
