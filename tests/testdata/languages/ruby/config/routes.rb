# frozen_string_literal: true

require "sidekiq/web"

Rails.application.routes.draw do
  root to: "pages#home"

  # get "old", to: "old#show"
  get "about", to: "pages#about"
  get "search" => "search#index", as: :search
  get "reports/daily"
  match "export", to: "exports#create", via: [:get, :post]
  get "legacy", to: redirect("/about")

  resources :orders, only: %i[index show create] do
    member do
      post :pay
      delete "coupon", action: :remove_coupon
    end
    collection { get :recent }
    get :invoice, on: :member
    resources :items, except: [:new, :edit]
  end

  resource :profile, only: [:show, :update]
  resources :categories, path: "kinds", param: :slug, only: :show

  namespace :admin do
    root "dashboard#index"
    resources :users, controller: "people", only: :index do
      post :ban
    end
    scope "billing", module: "billing" do
      put "plans/:id", to: "plans#update"
    end
  end

  scope path: "/api", module: "api" do
    scope :v1, controller: "status" do
      get :health
    end
    resources :shipments, only: [:index], defaults: { format: :json }
  end

  concern :commentable do
    resources :comments
  end

  if Rails.env.development?
    mount Sidekiq::Web => "/sidekiq"
    mount Preview::Engine, at: "/preview"
  end

  authenticate :user do
    get "inbox", to: "messages#index", constraints: { subdomain: "app" }
  end

  get "*path", to: "pages#missing"
end
