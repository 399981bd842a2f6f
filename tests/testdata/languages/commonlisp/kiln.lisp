;;;; Firing schedules of a kiln.

(defpackage #:kiln
  (:use #:cl #:alexandria)
  (:import-from #:local-time #:now #:timestamp)
  (:export #:fire #:schedule))

(in-package #:kiln)

(defconstant +absolute-zero+ -273.15d0)
(defparameter *step-minutes* 10 "Minutes between two readings.")
(defvar *current* nil)
(define-condition kiln-error (error)
  ((temperature :initarg :temperature :reader kiln-error-temperature))
  (:report (lambda (condition stream)
             (format stream "too hot: ~a" (kiln-error-temperature condition)))))

(deftype celsius () '(real -273.15 2000))

(defstruct segment
  (rate 100 :type celsius)
  target
  (hold 0))

(defstruct (cooling (:include segment))
  vent)

(defclass schedule ()
  ((name :initarg :name :reader schedule-name)
   (segments :initform '() :accessor schedule-segments)
   (started :initform nil))
  (:documentation "What is to be done, in order."))

(defclass glaze-schedule (schedule)
  ((cone :initarg :cone :type integer)))

(defgeneric duration (thing)
  (:documentation "Minutes that a thing takes."))

(defmethod duration ((segment segment))
  (+ (segment-hold segment)
     (* 60 (/ (segment-target segment) (segment-rate segment)))))

(defmethod duration ((schedule schedule))
  (reduce #'+ (schedule-segments schedule) :key #'duration))

(defmethod print-object :around ((schedule schedule) stream)
  (print-unreadable-object (schedule stream :type t)
    (princ (schedule-name schedule) stream)))

;; Adds a segment at the end.
(defun add-segment (schedule rate target &key (hold 0))
  "Returns the schedule."
  (let ((segment (make-segment :rate rate :target target :hold hold)))
    (setf (schedule-segments schedule)
          (append (schedule-segments schedule) (list segment)))
    schedule))

(defun safe-p (temperature)
  (and (> temperature +absolute-zero+) (< temperature 1300)))

(defmacro with-kiln ((name &rest options) &body body)
  "Runs BODY with *CURRENT* bound."
  `(let ((*current* (make-instance 'schedule :name ,name ,@options)))
     ,@body))

(declaim (inline half))
(defun half (n) (/ n 2))

#|
(defun commented-out () (fire nil))
|#

(defun fire (schedule &optional (at (now)))
  (labels ((wait (minutes) (sleep (* 60 minutes)))
           (heat (segment)
             (unless (safe-p (segment-target segment))
               (error 'kiln-error :temperature (segment-target segment)))
             (wait (duration segment))))
    (loop for segment in (schedule-segments schedule)
          do (heat segment)
          collect (cons at (segment-target segment)))))

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defun cone-temperature (cone)
    (ecase cone (6 1222) (10 1285))))

(defsetf first-segment (schedule) (value)
  `(setf (car (schedule-segments ,schedule)) ,value))

(define-compiler-macro duration (&whole form thing)
  (declare (ignore thing))
  form)

(deftest firing-takes-time
  (is (plusp (duration (make-segment :target 100)))))
