;;; garden.el --- Plans beds and sowings -*- lexical-binding: t; -*-

;;; Commentary:
;; `garden-sow' adds a sowing to the current bed.

;;; Code:

(require 'cl-lib)
(require 'subr-x)
(require 'garden-store "garden-store.el")

(defgroup garden nil
  "Plans a garden."
  :group 'applications)

(defcustom garden-directory (expand-file-name "garden" user-emacs-directory)
  "Where beds are kept."
  :type 'directory)

(defface garden-late '((t :inherit warning))
  "Face of late sowings.")

(defconst garden-months ["Jan" "Feb" "Mar"] "Names of months.")
(defvar garden--beds (make-hash-table :test #'equal))
(defvar-local garden-bed nil "The bed of this buffer.")

(defvar garden-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "s") #'garden-sow)
    map)
  "Keys of `garden-mode'.")

(cl-defstruct (garden-sowing (:constructor garden-sowing-create))
  "One sowing."
  plant
  (date nil :read-only t)
  rows)

(define-error 'garden-error "Garden error")

;;;###autoload
(define-derived-mode garden-mode special-mode "Garden"
  "Shows a bed."
  (setq garden-bed (garden--read-bed)))

(define-minor-mode garden-watch-mode
  "Reminds of sowings."
  :global t
  (message "watching"))

;; Reads a bed by its name.
(defun garden--read-bed (&optional name)
  "Return the bed called NAME."
  (let ((name (or name (completing-read "Bed: " (hash-table-keys garden--beds)))))
    (or (gethash name garden--beds)
        (signal 'garden-error (list name)))))

(defsubst garden--rows (sowing)
  (length (garden-sowing-rows sowing)))

;;;###autoload
(defun garden-sow (plant rows)
  "Sow PLANT in ROWS (see `garden-bed')."
  (interactive "sPlant: \nnRows: ")
  (cl-flet ((row (n) (cons n plant)))
    (push (garden-sowing-create :plant plant :rows (mapcar #'row (number-sequence 1 rows)))
          garden-bed))
  (garden-refresh))

(cl-defun garden-report (bed &key (stream standard-output) late)
  "Print BED to STREAM."
  (dolist (sowing bed)
    (when (or (not late) (garden-late-p sowing))
      (princ (format "%s; (not code)\n" (garden-sowing-plant sowing)) stream))))

(cl-defgeneric garden-late-p (thing)
  "Whether THING is late.")

(cl-defmethod garden-late-p ((sowing garden-sowing))
  (time-less-p (garden-sowing-date sowing) (current-time)))

(defmacro garden-with-bed (name &rest body)
  "Run BODY in the bed NAME."
  (declare (indent 1))
  `(let ((garden-bed (garden--read-bed ,name)))
     ,@body))

(defun garden-refresh ()
  (with-current-buffer (get-buffer-create "*garden*")
    (let ((inhibit-read-only t))
      (erase-buffer)
      (garden-report garden-bed))))

(defalias 'garden-plant #'garden-sow)

(eval-when-compile
  (defun garden--compiled () "Only while compiling." 1))

(with-eval-after-load 'org
  (defun garden-org-link (path) (garden--read-bed path)))

(define-inline garden-half (n)
  (inline-quote (/ ,n 2)))

(ert-deftest garden-a-sowing-has-rows ()
  (should (= 2 (garden--rows (garden-sowing-create :rows '(1 2))))))

(provide 'garden)
;;; garden.el ends here
