#!/usr/bin/env bb
;; Weather along the route. (defn commented [] nil)
(ns ^{:doc "Winds and waves." :author "the crew"}
  ferry.weather
  "Docstring of the namespace."
  {:added "1.2"}
  (:refer-clojure :exclude [get update])
  (:require [clojure.string :as str :refer [join split]]
            [clojure.spec.alpha :as s]
            [ferry.timetable :refer :all]
            #?(:clj [clojure.java.io :as io]
               :cljs [goog.string :as gstring])
            [malli.core :as-alias m]
            [ferry.pilot :refer [steer]]
            ferry.log)
  (:use [clojure.test :only [deftest is testing]])
  (:import (java.time Instant Duration)
           [java.util UUID]
           java.io.File)
  #?(:cljs (:require-macros [ferry.macros :refer [defroute]])))

(set! *warn-on-reflection* true)
(declare forward other)

(def ^:const pi 3.14159)
(def ^{:private true
       :doc "A cache."} cache (atom {}))
(def ^:dynamic *unit* "The unit of wind." :knots)
(defonce server (atom nil))
(def undefined)
(def lookup (partial clojure.core/get {:a 1}))
(def handler (fn [request] (:body request)))

(defn knots->ms
  "Turns knots into metres per second. (defn in-string [] 1)"
  {:added "1.0" :pre [number?]}
  ^double [^double knots]
  (* knots 0.514444))

(defn ^:private gust
  ([speed] (gust speed 1.3))
  ([speed factor & {:keys [limit] :or {limit 60} :as options}]
   (let [raw (* speed factor)
         clamp (fn clamp [x] (min x limit))]
     (clamp raw))))

(defn- secret? [x] (some? x))
(defn with-deps*! [{:keys [host port]
                    {:strs [user]} :auth} & more]
  (letfn [(inner [a] (* 2 a))
          (outer [b] (inner b))]
    (def surprise 1)
    (outer port)))

#_(defn discarded [x] x)
(comment
  (defn in-comment [] (gust 3))
  (def x 1))

(defmacro with-wind
  "Runs a body with a wind."
  {:style/indent 1}
  [[name speed] & body]
  `(let [~name ~speed
         wind# (defn ~'generated [] 1)]
     ~@body))

(definline twice [x] `(* 2 ~x))

(defprotocol Forecast
  "Knows what comes."
  :extend-via-metadata true
  (predict [this at] [this at place] "Predicts the wind.")
  (^boolean calm? [this]))

(definterface IGauge
  (^double read [^String name]))

(defrecord Station [name ^double latitude ^double longitude]
  Forecast
  (predict [this at] (predict this at name))
  (predict [_ at place] {:at at :place place})
  (calm? [_] true)
  #?@(:clj [java.lang.AutoCloseable
            (close [_] nil)])
  Object
  (toString [_] (str "station " name)))

(deftype Buoy [^:volatile-mutable reading ^:unsynchronized-mutable depth]
  clojure.lang.IDeref
  (deref [_] reading)
  Forecast
  (calm? [this] (set! reading 0) false))

(extend-type java.lang.String
  Forecast
  (predict [this at] {:place this :at at})
  (calm? [this] (str/blank? this)))

(extend-protocol Forecast
  nil
  (calm? [_] true)
  Number
  (calm? [n] (< n 5)))

(defmulti warn
  "Warns by kind."
  {:arglists '([event])}
  :kind)
(defmethod warn :storm [{:keys [speed]}] (str "storm " speed))
(defmethod warn ::local [_]
  (let [text "no (defn fake [])"] text))
(defmethod ^:export warn :default warn-default [_ & _] nil)
(defmethod print-method Station [station ^java.io.Writer writer]
  (.write writer (str station)))

(derive ::gale ::storm)
(s/def ::speed (s/and number? pos?))
(s/def :ferry.weather/report (s/keys :req-un [::speed]))
(s/fdef knots->ms :args (s/cat :knots ::speed))
(def Report [:map [:speed :double]])

(def routes
  ["/weather" {:get (fn [request] (predict request (Instant/now)))}
   ["/:place" {:name ::place}]])

#?(:clj (defn now [] (Instant/now))
   :cljs (defn now [] (js/Date.)))

#?(:clj
   (do
     (defn slurp-report [path] (slurp (io/file path)))
     (defn spit-report [path report] (spit path report))))

(do
  (defn grouped-a [] 1)
  (def grouped-b 2))

(let [counter (atom 0)]
  (defn next-id []
    (swap! counter inc)))

(when-not (resolve 'later)
  (defn later [] :later))

(defn pipeline [reports]
  (->> reports
       (filter #(> (:speed %) 3))
       (map (comp str/upper-case :place))
       (reduce (fn [acc {:keys [place]}] (conj acc place)) [])
       (into #{} (remove nil?))))

(defn regex-trap [text]
  (re-find #"\(defn (\S+) \"x\"" text)
  [\( \) \" \; \newline])

(s/defn typed :- s/Str
  [x :- s/Int]
  (str x))

(deftest knots-are-slow
  (testing "one knot"
    (is (= 0.514444 (knots->ms 1))))
  (testing "a report (defn nested [])"
    (is (thrown? Exception (predict nil nil)))))

(deftest ^:integration station-test (is true))

(use-fixtures :each (fn [f] (reset! cache {}) (f)))

(defn -main
  [& args]
  (doseq [arg args]
    (println (warn {:kind (keyword arg)}))))
