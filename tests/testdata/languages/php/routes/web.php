<?php

use App\Http\Controllers\{InvoiceController, OrderController};
use App\Http\Controllers\Admin;
use Illuminate\Support\Facades\Route;

Route::get('/', fn () => view('welcome'))->name('home');
Route::get('/orders/{order}', [OrderController::class, 'show'])->whereNumber('order');
Route::post('orders', 'OrderController@store');
Route::middleware('auth')->put('/orders/{order}', [OrderController::class, 'update']);
Route::match(['get', 'post'], '/search', SearchController::class);
Route::any('/hook', function () {
    return handle();
});

Route::prefix('admin')->middleware(['auth', 'can:admin'])->group(function () {
    // Route::get('/disabled', [Admin\UserController::class, 'index']);
    Route::get('/users', [Admin\UserController::class, 'index']);

    Route::group(['prefix' => 'billing', 'middleware' => 'paid'], function () {
        Route::delete('/plans/{plan}', [Admin\PlanController::class, 'destroy']);
    });
});

Route::controller(InvoiceController::class)->prefix('invoices')->group(function () {
    Route::get('/', 'index');
    Route::post('/{invoice}/send', 'send');
});

Route::apiResource('shops', ShopController::class)->only(['index', 'store']);
Route::resource('shops.products', ProductController::class, ['except' => ['create', 'edit', 'destroy']]);
Route::view('/about', 'pages.about');
Route::fallback(MissingController::class);

$text = "Route::get('/quoted', [OrderController::class, 'show'])";
