defmodule ShopWeb.Router do
  use ShopWeb, :router

  pipeline :api do
    plug :accepts, ["json"]
  end

  scope "/", ShopWeb do
    pipe_through :browser

    # get "/old", PageController, :old
    get "/", PageController, :home
    live "/cart", CartLive, :show
    resources "/orders", OrderController, only: [:index, :show] do
      post "/pay", PaymentController, :create
      resources "/items", ItemController, except: [:new, :edit, :update]
    end
    resources "/profile", ProfileController, singleton: true, only: [:show]
  end

  scope "/api", ShopWeb.Api, as: :api do
    pipe_through :api

    scope "/v1", V1 do
      put "/stock/:sku", StockController, :update
    end

    match :*, "/hook", HookController, :any
    get "/raw", Elsewhere.RawController, :show, alias: false
  end

  forward "/jobs", Jobs.Router
end
