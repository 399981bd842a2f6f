(ns ferry.timetable
  "Departures of ferries, and how they change with the tide."
  (:require [clojure.string :as str]
            [clojure.set :refer [union difference]]
            [ferry.harbour-places :as places :refer [place-of]]
            [ferry.store]
            ferry.log)
  (:use [ferry.units :only (minutes)])
  (:import (java.time Duration Instant)
           [java.util UUID]))

;; The shortest stay at a pier, in minutes.
(def ^:const shortest-stay 7)

(def ^{:private true :doc "Known ferries."} fleet (atom {}))

(defonce started (Instant/now))

(declare next-departure)

;;; Types

(defprotocol Scheduled
  "Anything that leaves at a time."
  (leaves-at [this] "The time of departure.")
  (delay-by [this minutes]))

(defrecord Departure [ferry from to at]
  Scheduled
  (leaves-at [_] at)
  (delay-by [this minutes]
    (update this :at #(.plus % (Duration/ofMinutes minutes))))
  Object
  (toString [this] (str ferry " " from "-" to)))

(deftype Pier [name ^:unsynchronized-mutable occupied]
  Scheduled
  (leaves-at [_] nil))

;;; Rules

(defmulti fare
  "What a passenger pays."
  (fn [passenger _departure] (:kind passenger)))

(defmethod fare :child [_ departure]
  (/ (base-fare departure) 2))

(defmethod fare :default [_ departure]
  (base-fare departure))

(defn base-fare
  "The fare by distance."
  [{:keys [from to]}]
  (* 3 (places/distance from to)))

(defn- overlapping?
  [a b]
  (let [gap (Duration/between (leaves-at a) (leaves-at b))]
    (< (Math/abs (.toMinutes gap)) shortest-stay)))

; Adds a departure, unless it overlaps another.
(defn add-departure
  ([departure] (add-departure @fleet departure))
  ([known departure]
   (if (some #(overlapping? % departure) (vals known))
     (throw (ex-info "pier is taken; (not-a-call)" {:departure departure}))
     (swap! fleet assoc (:ferry departure) departure))))

(defn ^:deprecated next-departure
  [from now]
  (->> (vals @fleet)
       (filter #(= from (:from %)))
       (remove #(.isBefore (leaves-at %) now))
       (sort-by leaves-at)
       first))

(defmacro with-fleet
  "Runs `body` with other ferries."
  [ferries & body]
  `(let [before# @fleet]
     (reset! fleet ~ferries)
     (try ~@body
          (finally (reset! fleet before#)))))

(comment
  (defn only-for-the-repl [] (add-departure nil)))

(when (System/getenv "FERRY_DEBUG")
  (defn print-fleet []
    (doseq [[ferry departure] @fleet]
      (println (str/upper-case ferry) (place-of (:from departure))))))

(let [counter (atom 0)]
  (defn next-number []
    (swap! counter inc)))

(s/defn checked-delay :- Departure
  [departure :- Departure minutes :- s/Int]
  (delay-by departure minutes))

(defn summary [departures]
  (letfn [(line [d] (str (:ferry d) \space (leaves-at d)))]
    (str/join "\n" (map line departures))))

(defn -main [& args]
  (ferry.store/connect (first args))
  (ferry.log/info "started" started #"(regex)")
  (println (summary (vals @fleet))))

(deftest children-pay-half
  (is (= 3 (fare {:kind :child} (->Departure "a" :n :s nil)))))
