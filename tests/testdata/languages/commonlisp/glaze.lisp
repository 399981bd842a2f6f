;;;; -*- Mode: Lisp; Syntax: ANSI-Common-Lisp -*-
;;;; Glazes: recipes as materials, and what they melt to.

(uiop:define-package #:kiln/glaze
  (:use #:cl)
  (:use-reexport #:kiln)
  (:import-from #:serapeum
                #:->)
  (:local-nicknames (#:a #:alexandria))
  (:export #:glaze))

(cl:in-package #:kiln/glaze)

(asdf:defsystem "kiln-glaze"
  :depends-on ("kiln" "alexandria")
  :components ((:file "glaze")))

(declaim (optimize (speed 3)) (ftype (function (real) real) mole))

(define-symbol-macro +silica+ (gethash :silica *materials*))
(defglobal **weights** (make-hash-table))
(sb-ext:defglobal **counts** 0)
(defvar *materials* (make-hash-table :test #'eq)
  "Materials by name; (defun not-code () 1)")
(defvar *unbound*)
(defparameter *readme* "value (defvar *not-code* 1)")
(defconstant-if-unbound +limit+ 10)
(alexandria:define-constant +names+ '("clay" "ash") :test #'equal)
(defvar *open-paren* #\( "A character.")

(defstruct (material (:constructor make-material (name weight))
                     (:copier nil))
  "What a glaze is made of."
  (name nil :type symbol :read-only t)
  (weight 0.0 :type single-float) origin)

(defstruct point x y)
(defstruct (triple (:type list)) first second third)

(defclass glaze (a:named-object kiln:schedule) ; a comment
  (;; the parts
   (parts :initarg :parts
          :initform (list)
          :accessor glaze-parts
          :documentation "Materials (defclass not-code () ())")
   colour)
  (:metaclass funcallable-standard-class)
  (:default-initargs :parts nil))

(defclass empty-glaze (glaze) ())

(define-condition too-runny (error kiln-error)
  ((by :initarg :by :reader runny-by))
  (:report "It runs."))

(define-condition no-slots (warning) ())

(deftype ratio-list () `(cons ratio list))
(deftype positive () "Above zero." '(real (0) *))

(defgeneric melt (thing temperature &key rate)
  (:documentation "Melts a thing.")
  (:method ((thing material) temperature &key rate)
    (declare (ignore rate))
    (list thing temperature))
  (:method :around (thing (temperature (eql 0)) &key)
    (call-next-method)))

(defmethod melt ((thing glaze) (temperature real)
                 &key (rate 1))
  (mapc #'print (glaze-parts thing)) rate)
(defmethod (setf glaze-colour) (new (glaze glaze))
  (setf (slot-value glaze 'colour) new))
(defmethod initialize-instance :after ((glaze glaze) &key &allow-other-keys)
  (print glaze))

(defun (setf mole) (value name)
  (setf (gethash name **weights**) value))

(defun mole (n)
  "Returns a mole.
(defun in-a-docstring () 1)"
  (flet ((half (x) (/ x 2))
         (double (x) (* x 2)))
    (defun nested-defun (y) (half y))
    (double (half n))))

(defun no-parameters () 1) (defun second-on-line (x) x)

(defun
    split-head (x)
  x)

(cl:defun qualified (x) x)

#+sbcl
(defun only-sbcl (x) x)
#-sbcl (defun not-sbcl (x) x)
#+(or ccl ecl) (progn (defun in-progn () 1)
                      (defmacro in-progn-too () 2))

(let ((count 0))
  (defun counter () (incf count))
  (defun reset () (setf count 0)))

(eval-when (:compile-toplevel)
  (defparameter *in-eval-when* 1))

(macrolet ((with-x (body) `(let ((x 1)) ,body)))
  (defun in-macrolet () (with-x x)))

(symbol-macrolet ((y 1)) (defun in-symbol-macrolet () y))

(defmacro define-material (name weight)
  `(progn
     (defun ,name () ,weight)
     (defvar *generated* ',name)))

(define-material clay 1.5)

(defmacro with-glaze ((var &rest parts) &body body)
  `(let ((,var (make-instance 'glaze :parts ,@parts))) ,@body))

(define-modify-macro appendf (&rest lists) append)
(define-setf-expander first-part (glaze)
  (values nil nil '(new) `(setf (car ,glaze) new) `(car ,glaze)))
(defsetf part (glaze n) (new) `(setf (elt (glaze-parts ,glaze) ,n) ,new))
(define-method-combination mixing :identity-with-one-argument t)
(define-compiler-macro mole (&whole form n) (if (numberp n) n form))
(defpackage kiln-tests (:use cl kiln) (:shadow "FIRE"))

(defalias melt-all #'melt)
(defroute "/glazes" (:get) "(defun in-route () 1)")
(fiveam:def-suite glaze-suite :description "All of them")
(fiveam:in-suite glaze-suite)
(fiveam:test melts-at-zero
  (is (equal 0 (mole 0))))
(test (moles :depends-on melts-at-zero) (is (= 1 (mole 1))))
(define-test glaze-parts (true t))
(parachute:define-test colours :parent glaze-parts (true t))

(defparameter *table*
  '((defun quoted-code () 1)
    (defvar *quoted* 2)))

; (defun commented () 1)
#| #| (defun nested-comment () 1) |# |#
#+nil
(defun disabled () 1)

(setf (macro-function 'old) (lambda (form env) form env))
(setf (fdefinition 'alias) #'mole)
(in-package :cl-user)
