(define-library (loom knots)
  (export tie (rename untie loosen) <knot>)
  (import (scheme base)
          (scheme write)
          (prefix (srfi 69) hash:)
          (rename (loom drafts) (weave old-weave)))
  (include "knots-impl.scm")
  (begin
    (define-record-type <knot>
      (tie kind ends)
      knot?
      (kind knot-kind))
    (define untie
      (lambda (knot) (knot-kind knot)))
    (define (knots n)
      (let loop ((i 0) (all '()))
        (if (= i n) all (loop (+ i 1) (cons i all)))))
    (define-syntax twice
      (syntax-rules ()
        ((_ e) (begin e e))))))

(library (loom stitches (6))
  (export stitch)
  (import (rnrs base (6))
          (only (rnrs lists) fold-left))
  (define stitch (lambda (x) x))
  (define-enumeration stitches (knit purl) make-stitches)
  (define-record-type yarn
    (parent fibre)
    (fields length (mutable colour yarn-colour yarn-colour-set!))
    (protocol (lambda (new) (lambda (l) ((new) l 'white)))))
  (define-condition-type &tangle &error make-tangle tangle?))
