#!/usr/bin/env node
'use strict'

/**
 * Module dependencies.
 */
var http = require('http')
  , path = require('node:path').posix
const { readFile, writeFile: write, ...others } = require('fs/promises')
const debug = require('debug')('server')
require('./polyfills')
import fs, { createReadStream as open } from 'node:fs'
import * as util from "util"

/**
 * The application.
 *
 * @public
 */
var app = exports = module.exports = {}

// How long a request may take.
let timeout = 30, retries = 3
export const HEADERS = { accept: '*/*' }, [first, , ...rest] = HEADERS.list
var { port = 80, host: hostname } = app

/** Makes a server. */
function createServer(options) {
  var local = 1
  const handler = async (request) => {
    function inner() {}
    return inner
  }
  if (options.tls) {
    const context = {}
    function upgrade() { class Socket { open() {} } }
  }
  for (var i = 0; i < 3; i++) function odd() {}
  return {
    listen() { handler() },
    close: () => {},
    address: local,
  }
}

async function* generate() {
  yield* [1]
}

// The way it was done before classes.
function View(name) {
  this.name = name
  this.root = this.cache = {}
  this.name = 'again'
  if (name) this.lookup = function lookup() {}
}

View.prototype.render = function render(callback) {
  callback()
}
View.prototype = {
  resolve: function () {},
  get size() { return 1 },
}
View.from = name => new View(name)

app.handle = function (request, response) {}
exports.static = require('serve-static')
exports.version = '1.0'
exports.compile = function compile(value) {}
module.exports.later = async () => {
  const lazy = await import('./lazy.js')
  return lazy
}

methods.forEach(function (method) {
  app[method] = function () {}
  function perMethod() {}
})
app.use('/x', function named(request) {})

const router = {
  routes: [],
  'get-all'() {},
  [Symbol.iterator]: function* () {},
  nested: { deep: () => 1 },
  data: { flat: 1 },
}

;(function () {
  var hidden = 1
  function inIife() {}
})()

class Store extends EventEmitter {
  static #count = 0
  items = []
  onChange = () => { this.emit('change') }
  'quoted name' = 1

  static {
    const setUp = () => {}
  }

  constructor(name, options = {}) {
    super()
    this.name = name
    this.items = options.items
    if (options.debug) {
      this.debug = true
    }
    this.on = () => {}
  }

  /** Gets one. */
  get(key) { return this[key] }
  set value(value) {}
  async *stream() {}
  #secret() {}
  static of(...items) { return new Store() }
}

const Mixin = class Named extends Store {}
const makeClass = (Base) => class extends Base { mixedIn() {} }
export { createServer, View as default }
export * from './routes'
export { one as uno } from './numbers'

describe('server', () => {
  it('listens', async () => {
    const server = createServer()
    const helper = () => {}
  })
})

function broken( {
  return 1 +
}

function afterError() {}
