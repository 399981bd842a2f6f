/** The shop: baskets and their lines. */
@NonNullApi
package org.example.shop;
