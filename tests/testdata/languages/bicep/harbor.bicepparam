using './harbor.bicep'
param name = 'gull'
param count = 4
param sku = {
  name: 'Premium'
}
var local = 'x'
