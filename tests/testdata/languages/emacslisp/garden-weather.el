;;; garden-weather.el --- Weather for beds  -*- lexical-binding: t; -*-

;; Package-Requires: ((emacs "28.1") (dash "2.19"))

;;; Commentary:
;; (defun garden-weather-in-comment () nil)

;;; Code:

(require 'cl-lib)
(require 'garden)
(require 'map nil t)
(eval-when-compile
  (require 'subr-x)
  (defvar garden-weather-compiled))
(autoload 'garden-report "garden" "Doc." t)
(declare-function garden-refresh "garden" ())
(load "garden-extra")

(defgroup garden-weather nil
  "Weather (defun not-code ())."
  :group 'garden)

(defcustom garden-weather-url
  "https://example.org/weather"
  "Where it comes from."
  :type 'string)

(defcustom garden-weather-places '(("North" . 1)
                                   ("South" . 2))
  "Places."
  :type '(alist))

(defvar garden-weather--cache (make-hash-table))
(defvar garden-weather-unbound)
(defvar-local garden-weather-place nil "The place.")
(defconst garden-weather-units '(celsius fahrenheit))
(defvar garden-weather-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "g") #'garden-weather-refresh)
    (define-key map [remap forward-char] 'garden-weather-next)
    map)
  "Keys.")
(defvar-keymap garden-weather-other-map
  :doc "Other keys."
  "n" #'garden-weather-next)
(define-prefix-command 'garden-weather-prefix)

(defface garden-weather-hot '((t :foreground "red")) "Hot days.")
(define-fringe-bitmap 'garden-weather-sun [0 0 0])
(define-error 'garden-weather-error "No weather" 'error)
(define-widget 'garden-weather-widget 'default "A widget.")

(cl-defstruct (garden-weather-day (:constructor garden-weather-day-create)
                                  (:copier nil))
  "One day."
  date
  (high 0 :type number :documentation "Degrees.")
  (low 0))

(cl-defstruct garden-weather-point x y)

(defclass garden-weather-source (eieio-named)
  ((url :initarg :url
        :type string)
   (key :initform nil))
  "A source."
  :abstract t)

(cl-defgeneric garden-weather-fetch (source place)
  "Fetch from SOURCE.")

(cl-defmethod garden-weather-fetch ((source garden-weather-source) place)
  (list source place))

(cl-defmethod garden-weather-fetch :around ((source (eql nil)) _place)
  (ignore source))

(cl-defmethod (setf garden-weather-high) (value day)
  (setf (garden-weather-day-high day) value))

;;;###autoload
(defun garden-weather (place &optional days)
  "Show the weather at PLACE.

\(defun garden-weather-in-docstring ())"
  (interactive "sPlace: \np")
  (let ((n (or days 1)))
    (cl-flet ((show (day) (message "%s" day)))
      (dotimes (i n) (show i)))
    (defun garden-weather--nested () n)))

(defun garden-weather-next () (interactive) 1) (defun garden-weather-previous () 2)

(defsubst garden-weather--half (n) (/ n 2))

(cl-defun garden-weather-plot (days &key (width 80)
                                    height)
  "Plot DAYS."
  (list days width height))

(cl-defsubst garden-weather-mean (&rest temperatures) (apply #'+ temperatures))

(iter-defun garden-weather-each (days) (dolist (d days) (iter-yield d)))

(defmacro garden-weather-with-place (place &rest body)
  "Run BODY at PLACE."
  (declare (indent 1) (debug t))
  `(let ((garden-weather-place ,place)) ,@body))

(cl-defmacro garden-weather-measure ((name &optional unit) &body body)
  `(list ,name ,unit ,@body))

(define-inline garden-weather-double (n) (inline-quote (* 2 ,n)))

(defalias 'garden-weather-show #'garden-weather)
(defalias 'garden-weather-hide (lambda () "Hide it." (interactive) nil))
(define-obsolete-function-alias 'garden-weather-old 'garden-weather "2.0")
(define-obsolete-variable-alias 'garden-weather-old-url 'garden-weather-url "2.0")
(defvaralias 'garden-weather-site 'garden-weather-url)
(fset 'garden-weather-fset #'ignore)

(define-minor-mode garden-weather-mode
  "Show the weather in the mode line."
  :lighter " Weather"
  :global t
  (garden-refresh))

(define-globalized-minor-mode garden-weather-global-mode
  garden-weather-mode garden-weather-mode)

(define-derived-mode garden-weather-list-mode tabulated-list-mode "Weather"
  "Lists days."
  (setq tabulated-list-format [("Day" 10 t)]))

(define-generic-mode 'garden-weather-file-mode '("#") nil nil nil nil)
(define-compilation-mode garden-weather-log-mode "Log" "A log.")

(transient-define-prefix garden-weather-menu ()
  "Menu."
  ["Actions" ("r" "Refresh" garden-weather-refresh)])
(transient-define-suffix garden-weather-refresh (args)
  (interactive (list 1)) args)
(transient-define-argument garden-weather:--place () :class 'transient-option)

(define-advice message (:around (fn &rest args) garden-weather-log)
  (apply fn args))
(defadvice switch-to-buffer (after garden-weather-switch activate) nil)

(with-eval-after-load 'org
  (defun garden-weather-org () "In org." nil))

(unless (fboundp 'string-empty-p)
  (defun garden-weather-string-empty-p (s) (equal s "")))

(pcase-defmacro garden-weather-hot-day (n) `(and ,n (pred (< 30))))
(gv-define-setter garden-weather-low (value day) `(setf (car ,day) ,value))
(cl-deftype garden-weather-degrees () 'number)
(def-edebug-spec garden-weather-with-place t)
(evil-define-command garden-weather-evil (arg) (interactive) arg)
(use-package garden-extra
  :defer t
  :config (defun garden-weather-in-use-package () 1))

(setq garden-weather-quoted '(defun quoted-code () nil))
(define-key global-map (kbd "C-c w") 'garden-weather)
(define-abbrev global-abbrev-table "gw" "garden weather")

(ert-deftest garden-weather-test-mean ()
  "A mean."
  :tags '(fast)
  (should (= 3 (garden-weather-mean 1 2))))

(describe "garden weather"
  (it "shows a day"
    (expect (garden-weather 1) :to-equal 1)))

(provide 'garden-weather)
;;; garden-weather.el ends here
