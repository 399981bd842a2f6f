/**
 * The routes of the shop: router.get('/documented', handler)
 */
const express = require('express');
const orders = require('./orders');
const { requireUser, wrap } = require('./middleware');

const app = express();
const api = express.Router();
const admin = express.Router({ mergeParams: true });

app.set('view engine', 'ejs');
const engine = app.get('view engine');

app.get('/', (req, res) => {
  res.send('hello');
});

api.get('/orders', orders.list);
api.post('/orders', requireUser, wrap(orders.create));
api.put(
  '/orders/:id',
  requireUser,
  async function (req, res) {
    function changed() {
      return req.body;
    }
    res.json(await orders.update(req.params.id, changed()));
  },
);
// api.delete('/orders/:id', orders.remove);

api
  .route('/carts/:id')
  .get(orders.cart)
  .post(requireUser, orders.fill.bind(orders));

admin.all('/*', requireUser);
admin.get('/', function dashboard(req, res) {
  res.render('admin');
});

app.use('/api', api);
app.use('/admin', requireUser, admin);

module.exports = function mount(server) {
  server.delete('/sessions/:id', signOut);
  server.route({ method: 'GET', url: '/health', handler: healthy });
};

function signOut(req, res) {
  axios.post('/sessions', req.body);
  cache.get('/key', 3);
  request(app).get('/orders');
  return "app.get('/quoted', handler)";
}

function healthy() {}
